import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

/// H9 (nothing is rewritten silently): input that could split or smuggle a request is refused, and the error names the part.
@Suite("H9: nothing is rewritten silently, in requests", .tags(.h09)) struct RefusalTests {
  private static let everyByte = (0...255).map { UInt8($0) }
  private static let tokenBytes = Set("!#$%&'*+-.^_`|~0123456789".utf8)
    .union(UInt8(ascii: "a")...UInt8(ascii: "z")).union(UInt8(ascii: "A")...UInt8(ascii: "Z"))

  /// Text with one byte in its middle. Bytes beyond ASCII are the character with that number.
  private func text(with byte: UInt8) -> String { "a" + String(UnicodeScalar(byte)) + "b" }

  private func code(_ body: () throws -> Void) -> HTTPError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? HTTPError)?.code
    }
  }

  @Test("A method is a token: every other byte is refused", arguments: everyByte)
  func method(byte: UInt8) {
    let code = code { _ = try HTTPMethod(text(with: byte)) }

    expectEqual(code, Self.tokenBytes.contains(byte) ? nil : .invalidMethod)
  }

  @Test("A header name is a token: every other byte is refused", arguments: everyByte)
  func headerName(byte: UInt8) throws {
    var request = try HTTPRequest("http://example.com/")

    let code = code { try request.addHeader(text(with: byte), "value") }

    expectEqual(code, Self.tokenBytes.contains(byte) ? nil : .invalidHeaderName)
    expectEqual(request.headers.count, code == nil ? 1 : 0)
  }

  @Test("A header value is visible ASCII, spaces and tabs: every other byte is refused", arguments: everyByte)
  func headerValue(byte: UInt8) throws {
    var request = try HTTPRequest("http://example.com/")
    let isAllowed = byte == 0x09 || (0x20...0x7E).contains(byte)

    let code = code { try request.setHeader("X-A", text(with: byte)) }

    expectEqual(code, isAllowed ? nil : .invalidHeaderValue)
  }

  @Test(
    "A header that frames or routes the message is refused",
    arguments: [
      "Content-Length", "content-length", "Transfer-Encoding", "TE", "Trailer", "Connection", "Keep-Alive",
      "Proxy-Connection", "Upgrade", "Host", "Expect",
    ])
  func forbiddenHeader(name: String) throws {
    var request = try HTTPRequest("http://example.com/")

    let codes = [code { try request.setHeader(name, "1") }, code { try request.addHeader(name, "1") }]

    expectEqual(codes, [.forbiddenHeader, .forbiddenHeader])
  }

  @Test(
    "Blanks around a value are refused, because a platform removes them", arguments: [" a", "a ", "\ta", "a\t", " "])
  func blanks(value: String) throws {
    var request = try HTTPRequest("http://example.com/")

    expectEqual(code { try request.setHeader("X-A", value) }, .invalidHeaderValue)
  }

  @Test("Empty methods and names are refused, and empty values are not")
  func empty() throws {
    var request = try HTTPRequest("http://example.com/")

    expectEqual(code { _ = try HTTPMethod("") }, .invalidMethod)
    expectEqual(code { try request.setHeader("", "a") }, .invalidHeaderName)
    #expect(code { try request.setHeader("X-A", "") } == nil)
  }

  @Test("An error names the part and the offset, and shows no secret")
  func messages() throws {
    var request = try HTTPRequest("http://example.com/?token=sentinel")

    let method = #expect(throws: HTTPError.self) { _ = try HTTPMethod("GET / HTTP/1.1\r\nX: y") }
    let value = #expect(throws: HTTPError.self) { try request.setHeader("Authorization", "Bearer sentinel\n") }
    let url = #expect(throws: HTTPError.self) { _ = try HTTPRequest("http://user:sentinel@example.com/") }

    expectEqual(method.map { "\($0)" }?.contains("offset 3"), true)
    expectEqual(value.map { "\($0)" }?.contains("Authorization has LF at offset 15"), true)
    expectEqual(url.map { "\($0)" }?.contains("user information"), true)
    for printed in [value, url].map({ String(reflecting: $0) }) + ["\(request)", String(reflecting: request)] {
      #expect(!printed.contains("sentinel"))
    }
  }
}

/// H9 (nothing is rewritten silently): no part of a form can add header fields or parts.
@Suite("H9: nothing is rewritten silently, in forms", .tags(.h09)) struct PartRefusalTests {
  private func text(_ body: HTTPBody) throws -> String { try String(decoding: body.bytes(), as: UTF8.self) }

  @Test(
    "Names of parts and files cannot end their quotes or their line",
    arguments: (0..<0x20).map { UInt8($0) } + [0x22, 0x5C, 0x7F])
  func names(byte: UInt8) throws {
    let name = "a" + String(UnicodeScalar(byte)) + "b"
    let escaped = "a%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) + "b"

    let sent = try text(.multipart([.data(name, .init(), fileName: name)]))

    #expect(sent.contains("name=\"\(escaped)\"; filename=\"\(escaped)\"\r\n"))
  }

  @Test("Names beyond ASCII are UTF-8, and percent signs stay")
  func unicode() throws {
    #expect(try text(.multipart([.text("Größe %22", "")])).contains("name=\"Größe %22\"\r\n"))
  }

  private static let badTypes = [
    "", "text", "text/", "/plain", "text/plain\r\nX: y", "text/plain\n", "text/ plain", "text/plain;", "text/plain; a",
    "text/plain; a=", "text/plain; a=\"b", "text/plain, text/html", "text/plain; a=b c", "text/plän", " text/plain",
  ]

  @Test("A content type is a media type, in a part and in a body")
  func contentTypes() throws {
    for type in Self.badTypes {
      let part = #expect(throws: HTTPError.self) { try HTTPBody.Part.data("n", .init(), contentType: type) }
      let body = #expect(throws: HTTPError.self) { try HTTPBody.data(.init(), contentType: type).checkContentType() }
      #expect(part?.code == .invalidHeaderValue && body?.code == .invalidHeaderValue, "\(type.debugDescription)")
    }
    for type in ["text/plain", "a/b;c=d", "a/b ; c=\"d \\\" e\"", "application/vnd.api+json; q=1; r=2"] {
      try HTTPBody.data(.init(), contentType: type).checkContentType()
    }
    try HTTPBody.empty.checkContentType()
  }
}
