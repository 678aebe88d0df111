import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Every error as users see it. The test prints them all for review.
@Suite("Texts of errors", .onSockets) struct HTTPErrorTextTests {
  typealias Failure = (name: String, provoke: () async throws -> Void)

  let mock = MockLoader()

  @Test("Every code has an error with a complete text")
  func everyCode() async throws {
    var missing = try Self.codesOfSource()

    for failure in requests + bodies + streams + chains + credentials + answers {
      let thrown = await #expect(throws: HTTPError.self, "\(failure.name)") { try await failure.provoke() }
      guard let error = thrown else { continue }
      #expect(ErrorText.fault(of: error, after: "\(failure.name): ") == nil)
      #expect(!"\(error)".contains("\n"))
      missing.remove(failure.name)
    }

    #expect(missing.isEmpty)
  }

  @Test("An error of the platform names the request and a remedy", arguments: [false, true])
  func platform(hasHead: Bool) throws {
    let request = try HTTPRequest("http://example.com/feed?\(sentinel)")
    for number in [-1, -1000, -1001, -1002, -1003, -1004, -1005, -1015, -1021, -1022, -1100, -1200, -9999] {
      let reported = NSError(domain: NSURLErrorDomain, code: number)
      guard case .failed(let error) = URLErrorTable.end(reported, request: request, hasHead: hasHead) else {
        Issue.record("\(number) is not a failure.")
        continue
      }
      let text = "\(error.naming(request))"
      #expect(ErrorText.fault(in: text, after: "\(error.code): GET http://example.com/feed?…: ") == nil)
      #expect(!text.contains(sentinel))
    }
  }

  @Test("A failed reset says how many parts failed", arguments: [1, 2])
  func reset(count: Int) throws {
    #expect(ErrorText.fault(of: try #require(ResetFailed(Array(repeating: Oops(), count: count)))) == nil)
  }

  @Test("A failed transfer names its request")
  func transfer() async throws {
    let server = try Loopback.server()
    server.on("/feed", .reset)

    let error = await #expect(throws: HTTPError.self) {
      try await SystemLoader(.patient).load(try HTTPRequest(server.url("/feed"))).value
    }

    #expect("\(try #require(error))".contains("GET \(server.url("/feed")): "))
  }

  @Test("The error of a request that cannot be sent names it once")
  func unsent() async throws {
    var request = try HTTPRequest(.put, "http://example.com/up?\(sentinel)")
    request.body = .file(URL(filePath: "/no/such/\(sentinel)"))
    let errors = [
      try #require(SystemLoader().load(request).outcomeIfCompleted?.error),
      try #require(SystemLoader().load(try HTTPRequest(.get, path: "feed")).outcomeIfCompleted?.error),
    ]

    #expect(
      "\(errors[0])" == "unreadableBody: PUT http://example.com/up?…: The body cannot be read. See `underlying`.")
    #expect("\(errors[1])".hasPrefix("missingHost: The request GET feed has no host."))
  }

  @Test("Long requests and multiline causes fit on one line")
  func long() throws {
    let request = try HTTPRequest("http://example.com/" + String(repeating: "a", count: 10_000))

    let text = HTTPError(.unreadableBody, "first\nsecond").naming(request).message

    #expect(text.count < 400 && text.hasSuffix("a…: first\\u{A}second"))
  }

  @Test(
    "Errors of refused URLs have a complete text",
    arguments: [
      "", "a", "ftp://a/", "http:a", "http://", "http://[::1", "http://[g]/", "http://a:99999/", "http://a b/",
      "http://-a/", "http://a..b/", "http://1.2.3/", "http://u:p@a/", "http://a/%", "http://a/[", "http://a/%2E%2E/",
    ])
  func urls(text: String) throws {
    let error = #expect(throws: HTTPError.self) { try HTTPURL(text) }
    #expect(ErrorText.fault(in: "\(try #require(error))", after: "invalidURL: ") == nil)
  }

  private static func codesOfSource() throws -> Set<String> {
    let file = URL(filePath: #filePath).appending(path: "../../../../Sources/FutureTreeHTTP/Messages/HTTPError.swift")
    let source = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
    return Set(source.matches(of: /= HTTPError\.Code\("(\w+)"\)/).map { String($0.output.1) })
  }
}
