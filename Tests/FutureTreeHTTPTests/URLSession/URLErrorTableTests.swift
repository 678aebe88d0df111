import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLErrorTable") struct URLErrorTableTests {
  private func code(
    _ number: Int, _ url: String = "http://a/", hasHead: Bool = false, text: String? = nil
  ) throws -> String {
    let error = NSError(
      domain: NSURLErrorDomain, code: number, userInfo: text.map { [NSLocalizedDescriptionKey: $0] } ?? [:])
    switch URLErrorTable.end(error, request: try HTTPRequest(url), hasHead: hasHead) {
    case .completed: return "completed"
    case .stopped: return "stopped"
    case .failed(let error): return error.code.description
    }
  }

  @Test("A transfer without an error is completed")
  func none() throws {
    guard case .completed = URLErrorTable.end(nil, request: try HTTPRequest("http://a/"), hasHead: true) else {
      Issue.record("The transfer is not completed.")
      return
    }
  }

  @Test(
    "Certain codes mean the same before and after the head",
    arguments: [
      ([-999], "stopped"), ([-1003, -1006], "unknownHost"), ([-1004, -1009, -1018, -1019, -1020], "cannotConnect"),
      ([-1001], "timedOut"), ([-1022, -1200, -1201, -1202, -1203, -1204, -1205, -1206], "insecureConnection"),
      ([-1000], "invalidURL"), ([-1015, -1016], "encodedBody"), ([-1100, -1101, -1102], "unreadableBody"),
      ([-1021], "bodyNotReplayable"),
      ([-1007, -1010, -1012, -1013, -1103, -2000, -3000, -3007, -995, -997, -31_000], "transportFailed"),
    ])
  func anywhere(numbers: [Int], name: String) throws {
    for number in numbers {
      try expectEqual(code(number), name, "\(number)")
      try expectEqual(code(number, hasHead: true), name, "\(number)")
    }
  }

  @Test("Codes of a closed connection depend on the head", arguments: [-1, -1005, -1008, -1011])
  func connection(number: Int) throws {
    try expectEqual(code(number), "connectionLost")
    try expectEqual(code(number, hasHead: true), "truncatedBody")
  }

  @Test("Codes of invalid HTTP depend on the head", arguments: [-1002, -1014, -1017])
  func notHTTP(number: Int) throws {
    try expectEqual(code(number), "invalidResponse")
    try expectEqual(code(number, hasHead: true), "truncatedBody")
  }

  @Test("On Linux, -1 of https before the head is a failure of trust")
  func trust() throws {
    #expect(try code(-1, "https://a/") == "insecureConnection")
    #expect(try code(-1, "https://a/", hasHead: true) == "truncatedBody")
  }

  @Test(
    "The texts of libcurl distinguish an unreadable head from a closed connection",
    arguments: [
      ("Failed writing header", "invalidResponse"), ("Header without colon", "invalidResponse"),
      ("Failure writing output to destination, passed 9 returned 0", "invalidResponse"),
      ("Nul byte in header", "invalidResponse"), ("Invalid Content-Length: value", "invalidResponse"),
      ("transfer closed with 2 bytes remaining to read", "connectionLost"), ("Out of memory", "connectionLost"),
    ])
  func unreadableHead(text: String, name: String) throws {
    try expectEqual(code(-1, text: text), name)
    #expect(try code(-1, "https://a/", text: text) == (name == "invalidResponse" ? name : "insecureConnection"))
    try expectEqual(code(-1, hasHead: true, text: text), "truncatedBody")
    try expectEqual(code(-1005, text: text), "connectionLost")
  }

  @Test(
    "The texts of libcurl distinguish a body that cannot be decoded from a truncated one",
    arguments: [
      "Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.",
      "Unrecognized or bad HTTP Content or Transfer-Encoding",
      "Error while processing content unencoding: incorrect header check",
    ])
  func undecodableBody(text: String) throws {
    try expectEqual(code(-1, hasHead: true, text: text), "encodedBody")
    try expectEqual(code(-1, text: text), "connectionLost")
    try expectEqual(code(-1005, hasHead: true, text: text), "truncatedBody")
  }

  @Test("A foreign error is named by its number, and its text is not printed")
  func foreign() throws {
    let error = NSError(domain: "d", code: 7, userInfo: [NSLocalizedDescriptionKey: sentinel])
    guard case .failed(let named) = URLErrorTable.end(error, request: try HTTPRequest("http://a/?q"), hasHead: false)
    else {
      Issue.record("The transfer did not fail.")
      return
    }
    var dumped = ""
    dump(named, to: &dumped)

    expectEqual(named.code, .transportFailed)
    #expect(named.description.contains("7"))
    #expect(!dumped.contains(sentinel))
  }
}

@Suite("Header fields of a platform") struct PlatformFieldsTests {
  @Test("Names that differ in case are one name, and fields are sorted by name")
  func merged() {
    let fields = PlatformFields.separated([("x-b", "3"), ("X-B", "1, 2"), ("Set-Cookie", "a=1, b=2"), ("A", "0")])

    expectEqual(fields.map(\.name), ["A", "Set-Cookie", "Set-Cookie", "X-B", "x-b"])
    expectEqual(fields.map(\.value), ["0", "a=1", "b=2", "1, 2", "3"])
  }

  @Test(
    "A value that the platform decoded as ISO-8859-1 is UTF-8 if its bytes are, and a value to send back is nothing else",
    arguments: [
      ("a", "a", "a"), ("caf\u{C3}\u{A9}", "café", "café"), ("caf\u{E9}", "caf\u{E9}", "caf\u{FFFD}"), ("€", "€", "€"),
      ("\u{EF}\u{BF}\u{BD}", "\u{FFFD}", "\u{FFFD}"),
    ])
  func decoded(value: String, text: String, cookie: String) {
    expectEqual(PlatformFields.decoded(value, of: "X-A"), text)
    expectEqual(PlatformFields.decoded(value, of: "set-cookie"), cookie)
  }

  @Test(
    "Joined cookies are split, and their dates are not",
    arguments: [
      ("a=1", ["a=1"]), ("a=1, b=2", ["a=1", "b=2"]), ("", [""]),
      (
        "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, b=2; Expires=Thu, 22 Oct 2026 07:28:00 GMT",
        ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/", "b=2; Expires=Thu, 22 Oct 2026 07:28:00 GMT"]
      ),
      ("a=1; expires=Wed, 21-Oct-26 07:28:00 GMT, b=2", ["a=1; expires=Wed, 21-Oct-26 07:28:00 GMT", "b=2"]),
      ("a=1,2,3; Secure, b=\"x, y\"", ["a=1,2,3; Secure", "b=\"x, y\""]), ("a=x,y=z", ["a=x,y=z"]),
      ("a=1, , b=2", ["a=1", "b=2"]), ("a=1, , , b=2, ", ["a=1", "b=2"]), ("a=1,", ["a=1,"]), ("a=1, b", ["a=1, b"]),
      ("a=1 , b=2\t, c=3 ", ["a=1 ", "b=2\t", "c=3 "]), ("a=1,, b=2", ["a=1,", "b=2"]), ("a=é, é=2", ["a=é", "é=2"]),
      ("a=1,\u{301} b=2, c=3", ["a=1,\u{301} b=2", "c=3"]), ("a=1, \u{301}=2", ["a=1", "\u{301}=2"]),
    ])
  func cookies(joined: String, split: [String]) {
    expectEqual(PlatformFields.splitCookies(joined).map { Array($0.utf8) }, split.map { Array($0.utf8) })
  }
}
