import Foundation
import FutureTreeHTTP
import TestSupport
import Testing

/// RFC 7578 and RFC 2046.
@Suite("Forms with files") struct MultipartTests {
  /// Counts up, so that the boundary is known.
  private struct Counter: RandomNumberGenerator {
    var word: UInt64 = 0

    mutating func next() -> UInt64 {
      word += 1
      return word
    }
  }

  private let boundary = "FutureTreeFormBoundary-00000000000000010000000000000002"

  private func form(_ parts: [HTTPBody.Part]) throws -> HTTPBody {
    var counter = Counter()
    return try .multipart(parts, using: &counter)
  }

  @Test("Texts, bytes and files are sent as parts, in order")
  func parts() throws {
    let file = try TemporaryFile("<p>", extension: "html")

    let body = try form([
      .text("title", "Größe"), .data("raw", Data([0, 255]), contentType: "x/y; a=\"b;c\""),
      .file("page", file.url, fileName: "a b.html", contentType: "text/html"),
    ])

    let expected =
      Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nGröße\r\n".utf8)
      + Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"raw\"\r\n".utf8)
      + Data("Content-Type: x/y; a=\"b;c\"\r\n\r\n".utf8) + Data([0, 255])
      + Data("\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"page\"; filename=\"a b.html\"\r\n".utf8)
      + Data("Content-Type: text/html\r\n\r\n<p>\r\n--\(boundary)--\r\n".utf8)
    try expectEqual(body.bytes(), expected)
    expectEqual(body.contentLength, expected.count)
    expectEqual(body.contentType, "multipart/form-data; boundary=\(boundary)")
    #expect(body.isReplayable)
    try expectEqual(body.bytes(), expected, "The body can be sent again.")
    withExtendedLifetime(file) {}
  }

  @Test("A form without files is in memory, and its length is known")
  func inMemory() throws {
    let body = try form([.text("a", "b")])

    guard case .data = body.content else { throw HTTPError(.unreadableBody, "It is no data.") }
    expectEqual(body.contentLength, (try body.bytes().count))
  }

  @Test("A form without parts is its closing delimiter")
  func noParts() throws {
    try expectEqual(form([]).bytes(), Data("--\(boundary)--\r\n".utf8))
  }

  @Test("A file has its own name by default")
  func ownName() throws {
    let file = try TemporaryFile("a")

    let text = try String(decoding: form([.file("f", file.url)]).bytes(), as: UTF8.self)

    #expect(text.contains("filename=\"\(file.url.lastPathComponent)\""))
  }

  @Test("Boundaries are valid, and new for each body")
  func boundaries() throws {
    let types = try Set((0..<100).map { _ in try #require(HTTPBody.multipart([]).contentType) })

    expectEqual(types.count, 100)
    for type in types {
      let boundary = type.dropFirst("multipart/form-data; boundary=".count)
      expectEqual(boundary.utf8.count, 55, "At most 70 characters are allowed.")
      #expect(boundary.utf8.allSatisfy { $0 == 0x2D || UnicodeScalar($0).properties.isAlphabetic || $0 < 0x3A })
    }
  }

  @Test("Large files are read in pieces, and small reads return all bytes")
  func largeFile() throws {
    let file = try TemporaryFile("")
    try file.resize(to: 3_000_000)

    let body = try form([.file("f", file.url), .file("g", file.url)])
    let pieces = try body.pieces(of: 65536)

    #expect(pieces.count > 90)
    expectEqual(pieces.map(\.count).reduce(0, +), body.contentLength)
  }

  @Test("A file with a size other than announced fails the body before its end", arguments: [0, 9, 11, 10_000])
  func changedFile(size: Int) throws {
    let file = try TemporaryFile("0123456789")
    let body = try form([.file("the file", file.url), .text("a", "b")])

    try file.resize(to: size)
    let error = #expect(throws: HTTPError.self) { try body.bytes() }

    expectEqual(error?.code, .wrongBodyLength)
    expectEqual(error?.message.contains(#"part "the file""#), true)
  }

  @Test("A missing file fails the body when it is made and when it is sent")
  func missingFile() throws {
    let body: HTTPBody
    let url: URL
    do {
      let file = try TemporaryFile("a")
      url = file.url
      body = try form([.file("f", url)])
    }

    let late = #expect(throws: HTTPError.self) { try body.bytes() }
    let early = #expect(throws: HTTPError.self) { try form([.file("f", url)]) }

    expectEqual([late?.code, early?.code], [.unreadableBody, .unreadableBody])
  }
}
