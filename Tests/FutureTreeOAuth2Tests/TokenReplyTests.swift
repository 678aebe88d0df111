import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("Responses of a token endpoint")
struct TokenReplyTests {
  private let sent = Date(timeIntervalSince1970: 0)

  private func read(
    _ body: String, status: HTTPStatus = .ok, old: OAuth2Credential? = nil
  ) throws(HTTPError) -> OAuth2Credential {
    let response = HTTPResponse(to: anyRequest(), status: status, body: Data(body.utf8))
    switch try TokenReply(response, sent: sent, replacing: old) {
    case .credential(let credential): return credential
    case .refused(let error): throw HTTPError(.tokenRefused, error)
    }
  }

  @Test("The example of RFC 6749, section 5.1, is parsed")
  func example() throws {
    let credential = try read(
      """
      {
        "access_token":"2YotnFZFEjr1zCsicMWpAA",
        "token_type":"example",
        "expires_in":3600,
        "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA",
        "example_parameter":"example_value"
      }
      """.replacing("\"example\"", with: "\"bEARER\""))

    #expect(credential.accessToken.text == "2YotnFZFEjr1zCsicMWpAA")
    #expect(credential.refreshToken == "tGzv3JOkF0XG5Qx2TlKWIA" && credential.expires == sent.addingTimeInterval(3600))
  }

  @Test(
    "Lifetimes as numbers or strings of digits are clamped",
    arguments: [
      ("3600", 3600), ("\"3600\"", 3600), ("0", 0), ("-5", 0), ("1.5", 1.5), ("1e300", TokenReply.longestLife),
      ("\"99999999999999999999\"", TokenReply.longestLife), ("9223372036854775808", TokenReply.longestLife),
    ])
  func lives(life: String, expected: TimeInterval) throws {
    let credential = try read(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(life)}"#)

    #expect(credential.expires == sent.addingTimeInterval(expected))
  }

  @Test("A token without a lifetime does not expire, and a missing refresh token retains the old one")
  func missing() throws {
    let old = OAuth2Credential(accessToken: try BearerToken("old"), refreshToken: "r1", scope: "read")

    let credential = try read(#"{"access_token":"a","token_type":"Bearer","expires_in":null}"#, old: old)

    #expect(credential.expires == nil && credential.refreshToken == "r1" && credential.scope == "read")
  }

  @Test(
    "An invalid response throws invalidTokenResponse and is not printed",
    arguments: [
      "", "null", "[]", "\"secret\"", "{", "{}", "{\"access_token\":\"secret\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"mac\"}", "{\"access_token\":\"secret\",\"token_type\":1}",
      "{\"access_token\":\"\",\"token_type\":\"Bearer\"}", "{\"access_token\":\"sec ret\",\"token_type\":\"Bearer\"}",
      "{\"access_token\":1,\"token_type\":\"Bearer\"}",
      "{\"access_token\":\"secret\\r\\nX: y\",\"token_type\":\"Bearer\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"refresh_token\":\"\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":\"soon\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":\"nan\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":\"0x10\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":true}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":{}}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\"} secret",
    ])
  func nonsense(body: String) { checkIsRefused(body) }

  @Test("A response that is nested too deep or exceeds 1 MiB throws invalidTokenResponse")
  func large() {
    checkIsRefused(String(repeating: "[", count: 100_000))
    checkIsRefused("{\"x\":" + String(repeating: "[", count: 100_000))
    checkIsRefused(
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"x\":\"" + String(repeating: "x", count: 1 << 20) + "\"}"
    )
  }

  private func checkIsRefused(_ body: String) {
    let error = #expect(throws: HTTPError.self) { _ = try read(body) }
    var printed = "\(error.map { "\($0)" } ?? "")"
    dump(error, to: &printed)

    #expect(error?.code == .invalidTokenResponse && !printed.contains("secret") && !printed.contains("sec ret"))
  }

  @Test("A refusal reports its known code, also with the status 200; other statuses are invalid")
  func refusals() {
    func code(_ body: String, _ status: Int) -> String {
      do { _ = try read(body, status: HTTPStatus(status)) } catch { return "\(error)" }
      return "a token"
    }

    #expect(code(#"{"error":"invalid_request","error_description":"secret"}"#, 400) == "tokenRefused: invalid_request")
    #expect(code(#"{"error":"bad_verification_code"}"#, 200) == "tokenRefused: another error")
    #expect(code(#"{"access_token":"secret","token_type":"Bearer"}"#, 400).hasPrefix("invalidTokenResponse"))
    for status in [302, 500, 503] { #expect(code(#"{"error":"x"}"#, status).hasPrefix("invalidTokenResponse")) }
  }
}
