import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeRecording
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H13: tolerant reading, of archives", .tags(.h13)) struct H13ArchiveTests {
  private func archive(
    _ request: String = #""method": "GET", "url": "https://example.com/""#, response: String = #""status": 200"#
  ) throws -> HTTPArchive {
    try HTTPArchive(
      Data(#"{"log": {"entries": [{"request": {\#(request)}, "response": {\#(response)}}]}}"#.utf8))
  }

  private func replay(_ archive: HTTPArchive, _ url: String = "https://example.com/", _ method: HTTPMethod = .get)
    throws -> Outcome<HTTPResponse>?
  {
    var request = try HTTPRequest(url)
    request.method = method
    return HTTPReplayer(archive).load(request).outcomeIfCompleted
  }

  @Test("Values that a browser joined with line feeds are several fields")
  func joinedFields() throws {
    let fields = #""headers": [{"name": "Set-Cookie", "value": "a=1\nb=2\r\nc=3"}, {"name": "ETag", "value": " x "}]"#
    let archive = try archive(response: #""status": 200, \#(fields)"#)

    let response = try #require(try replay(archive)).get()

    expectEqual(response.headers.values(for: "Set-Cookie"), ["a=1", "b=2", "c=3"])
    expectEqual(response.headers["ETag"], "x")
    try expectEqual(HTTPArchive(archive.data()), archive)
  }

  @Test(
    "An `_error` of another form is a failed load",
    arguments: [#"{"code": -999}"#, "-999", "true", #"["a"]"#, #""net::ERR_FAILED""#])
  func foreignErrors(error: String) throws {
    let failed = try replay(archive(response: #""status": 0, "_error": \#(error)"#))
    let answered = try replay(archive(response: #""status": 200, "_error": \#(error)"#))

    expectEqual(failed?.ending, .failed)
    expectEqual(answered?.ending, .succeeded)
  }

  @Test(
    "An empty error and a missing response are failed loads", arguments: [#""_error": """#, #""_error": null"#, ""])
  func missing(field: String) throws {
    try expectEqual(replay(archive(response: field))?.error?.code, .transportFailed)
    let json = #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://example.com/"}}]}}"#
    let archive = try HTTPArchive(Data(json.utf8))
    try expectEqual(replay(archive)?.error?.code, .transportFailed)
    try expectEqual(HTTPArchive(archive.data()), archive)
  }

  @Test("Responses without a body need no text", arguments: [(204, "GET"), (304, "GET"), (200, "HEAD")])
  func withoutBody(status: Int, method: String) throws {
    let archive = try archive(
      #""method": "\#(method)", "url": "https://example.com/""#,
      response: #""status": \#(status), "content": {"size": 1234, "mimeType": "text/plain"}"#)

    let response = try #require(try replay(archive, "https://example.com/", HTTPMethod(method))).get()

    #expect(try response.body.isEmpty && response.status.code == status)
    try expectEqual(replay(self.archive(response: #""status": 200, "content": {"size": 1}"#))?.ending, .failed)
  }

  @Test("Items of a query without a value, and URLs as browsers write them, match the request")
  func queries() throws {
    let items = #"[{"name": "a"}, {"name": "f[x]", "value": null}]"#
    let archive = try archive(
      #""method": "GET", "url": "https://example.com/my file?a&f[x]=1|2", "queryString": \#(items)"#)

    #expect(try replay(archive, "https://example.com/my%20file?a&f%5Bx%5D=1%7C2")?.ending == .succeeded)
  }

  @Test("A byte order mark is skipped, and an encoding is read in any case")
  func encodings() throws {
    let archive = try archive(
      response: #""status": 200, "content": {"mimeType": "text/plain", "text": "aGk=", "encoding": "BASE64"}"#)
    let marked = try HTTPArchive(Data([0xEF, 0xBB, 0xBF]) + archive.data())

    try expectEqual(replay(marked)?.get().body, Data("hi".utf8))
  }
}
