import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("Errors of OAuth2: cause, place and remedy") struct OAuth2ErrorTextTests {
  @Test("The error of every code states cause, place and remedy")
  func everyCode() async throws {
    let file = URL(filePath: #filePath).appending(path: "../../../Sources/FutureTreeOAuth2/HTTPError+OAuth2.swift")
    let source = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
    var missing = Set(source.matches(of: /= HTTPError\.Code\("(\w+)"\)/).map { String($0.output.1) })
    let failures: [(String, () async throws -> Void)] = [
      ("authenticationRequired", { try await load(isEmpty: true) }),
      ("tokenRequestFailed", { try await load(.fail(Oops())) }),
      ("tokenRefused", { try await load(.json(#"{"error":"invalid_client"}"#, status: .badRequest)) }),
      ("authenticationRequired", { try await load(.json(#"{"error":"invalid_grant"}"#, status: .badRequest)) }),
      ("authenticationRequired", { try await load(.status(.unauthorized)) }),
      ("tokenRequestFailed", { try await load(.status(.serviceUnavailable)) }),
      ("tokenRefused", { try await load(.json(#"{"error":"other"}"#, status: .badRequest)) }),
      ("invalidTokenResponse", { try await load(.json("[]")) }),
      ("invalidTokenResponse", { try await load(.json("[]", status: .badRequest)) }),
      ("invalidTokenResponse", { try await load(.json("[]")) { _ in throw Oops() } }),
      ("refreshPaused", { try await load(.status(.serviceUnavailable), times: 6) }),
      (
        "refreshPaused",
        { try await load(.respond(status: .tooManyRequests, headers: HTTPHeaders([("Retry-After", "5")])), times: 2) }
      ),
      ("authorizationFailed", { throw AuthorizationCodeLogIn.failed("was refused with access_denied. Log in again") }),
      (
        "credentialStoreFailed",
        {
          throw PrivateFile(URL(filePath: "/a"), name: "credential file", code: .credentialStoreFailed).failed(
            "cannot be opened", ENOENT)
        }
      ),
    ]

    for (name, provoke) in failures {
      let thrown = await #expect(throws: HTTPError.self, "\(name)") { try await provoke() }
      guard let error = thrown else { continue }
      #expect(ErrorText.fault(of: error, after: "\(name): ") == nil)
      missing.remove(name)
    }

    #expect(missing.isEmpty)
  }

  @Test("The error of an ended session without OAuth states cause, place and remedy")
  func refused() async throws {
    let mock = MockLoader()
    mock.onOthers(.status(.unauthorized))
    let layer = RefreshOnUnauthorized(try BearerToken("a1")) { loader in
      loader.load(anyRequest()).validated().map { _ in try BearerToken("a2") }
    }

    let error = await #expect(throws: HTTPError.self) {
      try await (layer --> mock).load(try HTTPRequest("https://example.com/")).value
    }

    expectEqual(error.map { ErrorText.fault(of: $0, after: "credentialsUnavailable: ") }, .some(nil))
    expectEqual(error?.response?.status, .unauthorized)
  }

  private func load(
    _ answer: MockAnswer? = nil, isEmpty: Bool = false, times: Int = 1,
    adaptReply: OAuth2Configuration.ReplyAdapter? = nil
  ) async throws {
    let rig = OAuth2Rig(isEmpty: isEmpty, life: 0, adaptReply: adaptReply)
    if let answer { rig.tokens.onOthers(answer) }
    for _ in 1..<times { _ = rig.api.load(rig.request()) }
    _ = try await rig.api.load(rig.request()).value
  }
}
