import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("Responses of a token endpoint")
struct TokenReplyTests {
  private let sent = Date(timeIntervalSince1970: 0)

  private func read(
    _ body: String, status: HTTPStatus = .ok, type: String = "text/html", old: OAuth2Credential? = nil
  ) throws(HTTPError) -> OAuth2Credential {
    var headers = HTTPHeaders()
    try headers.set("Content-Type", type)
    let response = HTTPResponse(to: anyRequest(), status: status, headers: headers, body: Data(body.utf8))
    switch try TokenReply(response, sent: sent, replacing: old) {
    case .credential(let credential): return credential
    case .refused(let refusal): throw HTTPError(.tokenRefused, "\(refusal.meaning) \(refusal.reason)")
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

    expectEqual(credential.accessToken.text, "2YotnFZFEjr1zCsicMWpAA")
    expectEqual(credential.refreshToken, "tGzv3JOkF0XG5Qx2TlKWIA")
    expectEqual(credential.expires, sent.addingTimeInterval(3600))
  }

  @Test(
    "Lifetimes as numbers or strings of digits are clamped",
    arguments: [
      ("3600", 3600), ("\"3600\"", 3600), ("0", 0), ("-5", 0), ("1.5", 1.5), ("1e300", TokenReply.longestLife),
      ("\"3600.0\"", 3600), ("\"-5\"", 0), ("\"99999999999999999999\"", TokenReply.longestLife),
      ("9223372036854775808", TokenReply.longestLife),
    ])
  func lives(life: String, expected: TimeInterval) throws {
    let credential = try read(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(life)}"#)

    expectEqual(credential.expires, sent.addingTimeInterval(expected))
  }

  @Test(
    "Forms of a reply that RFC 6749 does not have are read",
    arguments: [
      #"{"access_token":"a","expires_in":5184000}"#, #"{"access_token":"a","token_type":null}"#,
      #"{"access_token":"a","token_type":""}"#, #"{"access_token":"a","token_type":"BearerToken"}"#,
      #"{"access_token":"a","token_type":"Bearer","expires_in":""}"#,
      #"{"access_token":"a","token_type":"Bearer","refresh_token":""}"#,
      #"{"access_token":"a","token_type":"Bearer","refresh_token":null}"#,
      #"{"access_token":"a","token_type":"Bearer","error":""}"#,
      #"{"access_token":"a","token_type":"Bearer","error":null}"#,
      #"{"access_token":"a","token_type":"Bearer","scope":""}"#,
      #"{"access_token":"a","token_type":"Bearer","scope":[]}"#,
      #"{"access_token":"a","token_type":"Bearer","user":{"name":["x"]},"n":1}"#,
      "\u{FEFF}" + #" {"access_token":"a","token_type":"Bearer"}"#,
    ])
  func tolerant(body: String) throws {
    let old = OAuth2Credential(accessToken: try BearerToken("old"), refreshToken: "r1", scope: "read")

    let credential = try read(body, status: .created, old: old)

    expectEqual(credential.accessToken.text, "a")
    expectEqual(credential.refreshToken, "r1")
    expectEqual(credential.scope, "read")
  }

  @Test("A scope as an array is joined by spaces")
  func scopes() throws {
    try expectEqual(read(#"{"access_token":"a","scope":["read","write"]}"#).scope, "read write")
  }

  @Test("A token without a lifetime does not expire, and a missing refresh token retains the old one")
  func missing() throws {
    let old = OAuth2Credential(accessToken: try BearerToken("old"), refreshToken: "r1", scope: "read")

    let credential = try read(#"{"access_token":"a","token_type":"Bearer","expires_in":null}"#, old: old)

    #expect(credential.expires == nil)
    expectEqual(credential.refreshToken, "r1")
    expectEqual(credential.scope, "read")
  }

  @Test(
    "An invalid response throws invalidTokenResponse and is not printed",
    arguments: [
      "", "null", "[]", "\"secret\"", "{", "{}", "{\"access_token\":null,\"token_type\":\"Bearer\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"mac\"}", "{\"access_token\":\"secret\",\"token_type\":1}",
      "{\"access_token\":\"\",\"token_type\":\"Bearer\"}", "{\"access_token\":\"sec ret\",\"token_type\":\"Bearer\"}",
      "{\"access_token\":1,\"token_type\":\"Bearer\"}",
      "{\"access_token\":\"secret\\r\\nX: y\",\"token_type\":\"Bearer\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"DPoP\"}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"refresh_token\":1}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"scope\":1}",
      "{\"access_token\":\"secret\",\"token_type\":\"Bearer\",\"expires_in\":\"1-2\"}",
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

    expectEqual(error?.code, .invalidTokenResponse)
    #expect(!printed.contains("secret"))
    #expect(!printed.contains("sec ret"))
  }

  @Test("A form is read if the server says that it sent one")
  func form() throws {
    let form = "access_token=a%2B1&expires_in=3600&refresh_token=&scope=read+write&token_type=bearer"

    let credential = try read(form, type: "application/x-www-form-urlencoded; charset=utf-8")

    expectEqual(credential.accessToken.text, "a+1")
    expectEqual(credential.scope, "read write")
    #expect(credential.refreshToken == nil)
    expectEqual(credential.expires, sent.addingTimeInterval(3600))
    #expect(throws: HTTPError.self) { try read(form) }
    #expect(throws: HTTPError.self) {
      try read("access_token=a&access_token=b", type: "application/x-www-form-urlencoded")
    }
  }

  @Test(
    "A refusal has a meaning by its error, by its status, or by both",
    arguments: [
      (400, #"{"error":"invalid_grant","error_description":"secret"}"#, "invalidGrant \"invalid_grant\""),
      (200, #"{"error":"bad_refresh_token"}"#, "invalidGrant \"bad_refresh_token\""),
      (401, #"{"error":"invalid_client"}"#, "invalidClient \"invalid_client\""),
      (400, #"{"error":"slow_down"}"#, "transient \"slow_down\""),
      (400, #"{"error":"secret"}"#, "unknown another error"), (200, #"{"error":{"code":1}}"#, "unknown another error"),
      (401, #"{"error":"secret"}"#, "unauthorized another error"), (401, "secret", "unauthorized the status 401"),
      (401, #"{"access_token":"secret"}"#, "unauthorized the status 401"),
      (429, #"{"error":"invalid_grant"}"#, "transient the status 429"), (503, "secret", "transient the status 503"),
      (500, "", "transient the status 500"), (408, "", "transient the status 408"),
    ])
  func refusals(status: Int, body: String, meaning: String) {
    let error = #expect(throws: HTTPError.self) { try read(body, status: HTTPStatus(status)) }

    expectEqual(error?.message.hasPrefix(meaning), true, "\(error?.message ?? "")")
  }

  @Test("A status without an error and without a meaning is not a reply", arguments: [302, 400, 403, 404])
  func statuses(status: Int) {
    for body in [#"{"access_token":"secret","token_type":"Bearer"}"#, "<html>"] {
      let error = #expect(throws: HTTPError.self) { try read(body, status: HTTPStatus(status)) }

      expectEqual(error?.code, .invalidTokenResponse)
    }
  }
}
