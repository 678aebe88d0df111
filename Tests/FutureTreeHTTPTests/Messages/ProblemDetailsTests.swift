import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Problem details") struct ProblemDetailsTests {
  private func response(_ body: String, type: String? = "application/problem+json") throws -> HTTPResponse {
    let headers = try HTTPHeaders(type.map { ["Content-Type": $0] } ?? [])
    return HTTPResponse(to: anyRequest(), status: .forbidden, headers: headers, body: Data(body.utf8))
  }

  private static let outOfCredit = #"""
    {
      "type": "https://example.com/probs/out-of-credit?secret=1#2",
      "title": "You do not have enough credit.", "status": 403,
      "detail": "The balance of Ada is 30, but that costs 50.", "instance": "/account/12345/msgs/abc",
      "balance": 30, "accounts": ["/account/12345"]
    }
    """#

  @Test("The members of RFC 9457 are read, and others are decoded", arguments: ["", "; charset=utf-8"])
  func members(parameters: String) throws {
    struct Credit: Decodable {
      let balance: Int
    }
    let response = try response(Self.outOfCredit, type: "Application/Problem+JSON\(parameters)")
    let problem = try #require(response.problem)

    expectEqual(problem.type, "https://example.com/probs/out-of-credit?secret=1#2")
    expectEqual(problem.title, "You do not have enough credit.")
    expectEqual(problem.status, 403)
    expectEqual(problem.detail, "The balance of Ada is 30, but that costs 50.")
    expectEqual(problem.instance, "/account/12345/msgs/abc")
    try expectEqual(response.decoded(as: Credit.self).balance, 30)
  }

  @Test("Missing members and members of the wrong type are ignored (RFC 9457, section 3.1)")
  func tolerant() throws {
    let empty = try #require(try response("{}").problem)
    let wrong = try #require(
      try response(#"{"type": 1, "title": null, "status": "403", "detail": [], "instance": {}}"#).problem)

    expectEqual(empty.type, "about:blank")
    expectEqual(empty, wrong)
    expectEqual(empty.description, "no details")
  }

  @Test(
    "Other bodies have no details",
    arguments: [
      ("[]", "application/problem+json"), ("{", "application/problem+json"), ("", "application/problem+json"),
      ("{}", "application/json"), ("{}", "application/problem+xml"), ("{}", nil),
    ])
  func others(body: String, type: String?) throws {
    #expect(try response(body, type: type).problem == nil)
  }

  @Test("A body in a file has no details")
  func file() throws {
    let headers = try HTTPHeaders(["Content-Type": "application/problem+json"])
    let content = HTTPResponse.Content.file(URL(fileURLWithPath: "/missing"), size: 2)
    #expect(HTTPResponse(to: anyRequest(), status: .forbidden, headers: headers, content: content).problem == nil)
  }

  @Test("An error of the status has the details, and prints the title and the type, nothing else")
  func error() throws {
    let mock = MockLoader()
    mock.answer(
      status: .forbidden, headers: try HTTPHeaders(["Content-Type": "application/problem+json"]),
      body: Self.outOfCredit)

    let error = try #require(mock.load(anyRequest()).validated().outcomeIfCompleted?.error as? HTTPError)

    expectEqual(error.code, .unacceptableStatus)
    expectEqual(error.problem?.status, 403)
    expectEqual(
      error.message,
      "\(anyRequest()) failed with the status 403: You do not have enough credit. "
        + "(https://example.com/probs/out-of-credit). See `problem`.")
    for text in ["\(error)", "\(error.problem!)", String(reflecting: error.problem!)] {
      for secret in ["Ada", "12345", "secret"] { #expect(!text.contains(secret), "\(text)") }
    }
  }

  @Test("A title is one line of limited length")
  func oneLine() throws {
    let title = "a\\n\\u202E" + String(repeating: "b", count: 1_000)
    let problem = try #require(try response(#"{"title": "\#(title)"}"#).problem)

    #expect(problem.description.unicodeScalars.count <= 201)
    #expect(!problem.description.contains("\n"))
    #expect(!problem.description.unicodeScalars.contains("\u{202E}"))
  }
}
