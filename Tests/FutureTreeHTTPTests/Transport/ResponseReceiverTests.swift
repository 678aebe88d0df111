import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

/// A response as a transport can report it.
private struct Arrival {
  var request = anyRequest()
  var status = HTTPStatus.ok
  var fields: [(String, String)] = []
  var chunks: [String] = []
  var maximumSize = 10
  var decoding = ResponseReceiver.Decoding.asSent

  func received() throws(HTTPError) -> HTTPResponse {
    var receiver = try ResponseReceiver(for: request, maximumSize: maximumSize, decoding: decoding)
    try receiver.receiveHead(status, fields.map { (name: $0, value: $1) })
    for chunk in chunks { try receiver.receive(Data(chunk.utf8)) }
    return try receiver.finish()
  }

  /// The body as text, or the code of the error.
  var text: String {
    do throws(HTTPError) {
      return String(decoding: try received().body, as: UTF8.self)
    } catch {
      return "\(error.code)"
    }
  }
}

@Suite("ResponseReceiver") struct ResponseReceiverTests {
  private func text(_ fields: [(String, String)], _ chunks: String..., status: Int = 200) -> String {
    Arrival(status: HTTPStatus(status), fields: fields, chunks: chunks).text
  }

  @Test("Head and body are collected")
  func whole() throws {
    let arrival = Arrival(status: .created, fields: [("X-A", "\tb "), ("Content-Length", "4")], chunks: ["ab", "cd"])

    let response = try arrival.received()

    expectEqual(response.status, .created)
    expectEqual(response.headers["x-a"], "b")
    try expectEqual(response.body, Data("abcd".utf8))
  }

  @Test("A body that is shorter or longer than declared is refused (H12, whole bodies)")
  func declaredLength() {
    expectEqual(text([("Content-Length", "4")], "abc"), "truncatedBody")
    expectEqual(text([("Content-Length", "4")], "abc", "de"), "ambiguousBody")
    expectEqual(text([("Content-Length", "4")]), "truncatedBody")
  }

  @Test("A body over the limit is refused, declared or not")
  func limit() {
    expectEqual(text([("Content-Length", "11")]), "bodyTooLarge")
    expectEqual(text([], "0123456789"), "0123456789")
    expectEqual(text([], "0123456789", "A"), "bodyTooLarge")
    expectEqual(Arrival(chunks: ["a"], maximumSize: -1).text, "bodyTooLarge")
  }

  @Test(
    "A head with an ambiguous length of its body is refused",
    arguments: [
      [("Content-Length", "2, 3")], [("Content-Length", "2"), ("Content-Length", "3")], [("Content-Length", "-2")],
      [("Content-Length", "99999999999999999999")], [("Content-Length", "0x2")], [("Content-Length", "")],
      [("Content-Length", "2"), ("Transfer-Encoding", "chunked")], [("Transfer-Encoding", "gzip, chunked")],
      [("Content-Length", "2\u{1}")], [("Transfer-Encoding", "chunked\u{b}")],
    ])
  func framing(fields: [(String, String)]) {
    expectEqual(Arrival(fields: fields, chunks: ["ab"]).text, "ambiguousBody")
  }

  @Test("A repeated length is one length, and chunks are accepted")
  func plainFraming() {
    expectEqual(text([("Content-Length", "2, 2")], "ab"), "ab")
    expectEqual(text([("Transfer-Encoding", "Chunked")], "ab", "c"), "abc")
  }

  @Test("HEAD, 204 and 304 have no body, whatever is declared")
  func noBody() throws {
    let head = try HTTPRequest(HTTPMethod("head"), "http://example.com/")

    expectEqual(Arrival(request: head, fields: [("Content-Length", "100")]).text, "")
    for status in [204, 304] {
      expectEqual(text([("Content-Length", "100")], status: status), "")
      expectEqual(text([], "ab", status: status), "ambiguousBody")
    }
  }

  @Test("Informational heads are ignored, and a second or a missing head is refused")
  func heads() throws {
    var receiver = try ResponseReceiver(for: anyRequest(), maximumSize: 10)
    try receiver.receiveHead(HTTPStatus(103), [("Content-Length", "x")])
    try receiver.receiveHead(.ok, [])

    #expect(throws: HTTPError.self) { try receiver.receiveHead(.ok, []) }
    let code = #expect(throws: HTTPError.self) {
      _ = try ResponseReceiver(for: anyRequest(), maximumSize: 10).finish()
    }
    expectEqual(code?.code, .invalidResponse)
    let early = #expect(throws: HTTPError.self) {
      var receiver = try ResponseReceiver(for: anyRequest(), maximumSize: 10)
      try receiver.receive(Data("a".utf8))
    }
    expectEqual(early?.code, .invalidResponse)
  }

  @Test("Fields with invalid values are omitted")
  func invalidFields() throws {
    let response = try Arrival(fields: [("X-A", "a\u{0}b"), ("X B", "c"), ("X-C", "d")]).received()

    expectEqual(response.headers.map(\.name), ["X-C"])
  }

  @Test(
    "Values beyond ASCII are kept, and a value that the client sends back only with all its bytes (H13, tolerant reading)"
  )
  func beyondASCII() throws {
    let names = ["X-A", "Content-Disposition", "Set-Cookie", "Location", "ETag"]
    let fields = names.flatMap { [($0, " \"café €\" "), ($0, "\"a\u{FFFD}\"")] }

    let headers = try Arrival(fields: fields).received().headers

    for name in names {
      let isReturned = ["Set-Cookie", "Location", "ETag"].contains(name)
      expectEqual(headers.values(for: name), ["\"café €\""] + (isReturned ? [] : ["\"a\u{FFFD}\""]))
    }
  }

  @Test(
    "A control character in a value beyond ASCII omits the field", arguments: ["\0", "\r", "\n", "\u{1}", "\u{7F}"])
  func controlBeyondASCII(control: String) throws {
    #expect(try Arrival(fields: [("X-A", "é\(control)é")]).received().headers.isEmpty)
  }

  @Test(
    "A field that frames the body must be ASCII",
    arguments: [
      ("Content-Length", "2é"), ("Content-Length", "２"), ("Transfer-Encoding", "chun\u{212A}ed"),
      ("Content-Encoding", "é"),
    ])
  func framingBeyondASCII(name: String, value: String) {
    expectEqual(text([(name, value)], "ab"), "ambiguousBody")
  }

  @Test("The received bytes are counted")
  func received() throws {
    var receiver = try ResponseReceiver(for: anyRequest(), maximumSize: 10)
    expectEqual(receiver.received, HTTPProgress.Part())
    try receiver.receiveHead(.ok, [("Content-Length", "4")])
    try receiver.receive(Data("ab".utf8))

    expectEqual(receiver.received, HTTPProgress.Part(completed: 2, total: 4))
  }

  @Test("Errors name the request without its query (H11, no printed secret)")
  func names() throws {
    let request = try HTTPRequest("http://example.com/feed?key=\(sentinel)")

    let error = #expect(throws: HTTPError.self) {
      _ = try Arrival(request: request, fields: [("Content-Length", "4")]).received()
    }

    expectEqual(error?.message.hasPrefix("\(request): "), true)
    #expect(!showsSecret(error as Any))
  }
}

@Suite("ResponseReceiver, encoded bodies") struct ResponseReceiverEncodingTests {
  private static let gzip = [("Content-Encoding", "gzip"), ("Content-Length", "2")]

  @Test("An encoded body without a decoder is delivered as sent")
  func asSent() throws {
    let response = try Arrival(fields: Self.gzip, chunks: ["ab"]).received()

    expectEqual(response.headers["Content-Encoding"], "gzip")
    expectEqual(response.bodySize, 2)
    expectEqual(Arrival(fields: Self.gzip, chunks: ["a"]).text, "truncatedBody")
  }

  @Test("A decoded body is accepted without its length and its encoding, under the limit")
  func decoded() throws {
    let accepted = ResponseReceiver.Decoding.platform(accepting: ["gzip"])

    let response = try Arrival(fields: Self.gzip, chunks: ["abcd"], decoding: accepted).received()

    try expectEqual(response.body, Data("abcd".utf8))
    #expect(response.headers.isEmpty)
    let bomb = Arrival(fields: Self.gzip, chunks: [String(repeating: "a", count: 11)], decoding: accepted)
    expectEqual(bomb.text, "bodyTooLarge")
  }

  @Test(
    "A decoded body with an encoding that was not accepted is refused, and identity is no encoding",
    arguments: [("gzip", "encodedBody"), ("identity, br", "encodedBody"), ("identity", "ab"), ("deflate, GZIP", "ab")])
  func refused(encoding: String, text: String) {
    let accepted: Set = encoding.contains("deflate") ? ["gzip", "deflate"] : []

    let arrival = Arrival(
      fields: [("Content-Encoding", encoding)], chunks: ["ab"], decoding: .platform(accepting: accepted))

    expectEqual(arrival.text, text)
  }

  @Test(
    "An empty body has nothing to decode, and a name that no platform decodes is delivered as sent",
    arguments: [
      ([("Content-Encoding", "gzip"), ("Content-Length", "0")], ""),
      ([("Content-Encoding", "gzip"), ("Content-Length", "0, 0")], ""),
      ([("Content-Encoding", "aws-chunked"), ("Content-Length", "2")], "ab"),
      ([("Content-Encoding", "UTF-8, identity")], "ab"),
      ([("Content-Encoding", "compress"), ("Content-Length", "2")], "ab"),
    ], [[], ["gzip"]] as [Set<String>])
  func notEncoded(_ answer: (fields: [(String, String)], body: String), accepted: Set<String>) throws {
    let chunks = answer.body.isEmpty ? [] : [answer.body]
    var arrival = Arrival(fields: answer.fields, chunks: chunks, decoding: .platform(accepting: accepted))

    let response = try arrival.received()

    try expectEqual(response.body, Data(answer.body.utf8))
    try expectEqual(response.headers, HTTPHeaders(NameValuePairs(answer.fields)))
    arrival.chunks = ["a"]
    if answer.fields.count > 1 {
      expectEqual(arrival.text, answer.body.isEmpty ? "ambiguousBody" : "truncatedBody")
    }
  }

  @Test(
    "A name that a platform decodes is refused among other names, and in an empty body in chunks",
    arguments: [
      ([("Content-Encoding", "aws-chunked, gzip")], []), ([("Content-Encoding", "aws-chunked, gzip")], ["gzip"]),
      ([("Content-Encoding", "x-gzip")], ["gzip"]), ([("Content-Encoding", "zstd")], []),
      ([("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")], []),
    ] as [([(String, String)], Set<String>)])
  func stillRefused(fields: [(String, String)], accepted: Set<String>) {
    expectEqual(Arrival(fields: fields, decoding: .platform(accepting: accepted)).text, "encodedBody")
  }

  @Test("The error of an encoded body names the setting that accepts it, or the encodings that are accepted")
  func remedy() {
    func message(_ accepted: Set<String>) -> String? {
      let arrival = Arrival(fields: [("Content-Encoding", "br")], decoding: .platform(accepting: accepted))
      return #expect(throws: HTTPError.self) { try arrival.received() }?.message
    }

    expectEqual(message([])?.contains("`acceptsEncodedBodies`"), true)
    expectEqual(message(["gzip", "deflate"])?.contains("only deflate, gzip"), true)
  }

  @Test("Two framings of a decoded body are refused")
  func ambiguous() {
    let arrival = Arrival(
      fields: Self.gzip + [("Transfer-Encoding", "chunked")], decoding: .platform(accepting: ["gzip"]))

    expectEqual(arrival.text, "ambiguousBody")
  }
}

@Suite("ResponseReceiver, bodies to a file") struct ResponseReceiverFileTests {
  private let folder: Folder
  private var arrival = Arrival()

  init() throws {
    folder = try Folder()
    arrival.request.delivery = .file(folder.file("body"), maximumSize: 12)
  }

  @Test("The body of a success is written to the file, under the limit of the file")
  mutating func delivered() throws {
    arrival.chunks = ["012345", "6789AB"]

    try expectEqual(arrival.received().content.description, "12 bytes in a file")
    expectEqual(folder.text(of: "body"), "0123456789AB")
    expectEqual(folder.names, ["body"])
    arrival.chunks.append("C")
    expectEqual(arrival.text, "bodyTooLarge")
  }

  @Test("The body of another status stays in memory, under the limit of memory")
  mutating func explanation() {
    arrival.status = .notFound
    arrival.chunks = ["0123456789"]
    expectEqual(arrival.text, "0123456789")
    expectEqual(folder.names, [])
    arrival.chunks = ["0123456789A"]
    expectEqual(arrival.text, "bodyTooLarge")
  }

  @Test("A truncated body or a dropped receiver leaves the old file unchanged, and no other file")
  mutating func cut() throws {
    _ = try folder.write("old", to: "body")
    arrival.fields = [("Content-Length", "4")]
    arrival.chunks = ["abc"]

    expectEqual(arrival.text, "truncatedBody")
    do {
      var receiver = try ResponseReceiver(for: arrival.request, maximumSize: 10)
      try receiver.receiveHead(.ok, [])
      try receiver.receive(Data("ab".utf8))
      expectEqual(folder.names.count, 2)
    }

    expectEqual(folder.names, ["body"])
    expectEqual(folder.text(of: "body"), "old")
  }

  @Test("An impossible file is refused before a request is sent")
  func impossible() throws {
    var request = anyRequest()
    request.delivery = .file(folder.file("missing/\(sentinel)"))

    let error = #expect(throws: HTTPError.self) { _ = try ResponseReceiver(for: request, maximumSize: 10) }

    expectEqual(error?.code, .unwritableBody)
    #expect(!showsSecret(error as Any))
  }

  @Test("The limit of a stream applies although the transport delivers it in memory")
  func bufferedStream() throws {
    var request = anyRequest()
    request.delivery = .stream(maximumSize: 3)
    for (status, limit, expected) in [(200, 100, "bodyTooLarge"), (200, 2, "bodyTooLarge"), (404, 100, "fits")] {
      var receiver = try ResponseReceiver(for: request, maximumSize: limit)
      try receiver.receiveHead(HTTPStatus(status), [])

      var code = "fits"
      do { try receiver.receive(Data(count: limit == 2 ? 3 : 4)) } catch { code = error.code.description }
      expectEqual(code, expected)
    }
  }

  @Test("ResponseDelivery has the destination and the limit of a body")
  func fields() {
    #expect(ResponseDelivery.defaultValue.file == nil && ResponseDelivery.defaultValue.maximumSize == nil)
    expectEqual(ResponseDelivery.buffered(maximumSize: 3).maximumSize, 3)
    let delivery = ResponseDelivery.file(folder.file("a"), maximumSize: nil)
    expectEqual(delivery.file, folder.file("a"))
    expectEqual(delivery.maximumSize, .max)
  }
}
