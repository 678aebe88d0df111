import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Responses as text") struct ResponseTextTests {
  private func response(_ bytes: [UInt8], _ type: String?) throws -> HTTPResponse {
    let headers = try HTTPHeaders(type.map { ["Content-Type": $0] } ?? [])
    return HTTPResponse(to: anyRequest(), status: .ok, headers: headers, body: Data(bytes))
  }

  @Test(
    "The encoding is that of the content type, otherwise UTF-8",
    arguments: [
      (nil, Array("é€".utf8), "é€"),
      ("text/plain", Array("é€".utf8), "é€"),
      ("text/plain; charset=\"UTF-8\"", Array("é€".utf8), "é€"),
      ("text/html;a=b; Charset=ISO-8859-1", [0xE9, 0x80], "é€"),
      ("text/html; charset=us-ascii", [0x93, 0x61, 0x94], "“a”"),
      ("text/html; charset=windows-1251", [0xEF, 0xF0], "пр"),
      ("text/html; charset=Shift_JIS", [0x83, 0x65], "テ"),
      ("text/html; charset=utf-16be", [0x00, 0x61, 0x20, 0xAC], "a€"),
      ("text/html; charset=utf-8", [0x61, 0xFF], "a\u{FFFD}"),
      ("text/html; charset=latin1", [0x61, 0x81], "a\u{81}"),
      ("text/html; charset=utf-8", [], ""),
    ] as [(String?, [UInt8], String)])
  func charsets(type: String?, bytes: [UInt8], text: String) throws {
    try expectEqual(response(bytes, type).text, text)
  }

  @Test(
    "A byte order mark takes precedence, and is no part of the text",
    arguments: [
      ([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "é"), ([0xFE, 0xFF, 0x20, 0xAC], "€"), ([0xFF, 0xFE, 0xAC, 0x20], "€"),
    ] as [([UInt8], String)])
  func marks(bytes: [UInt8], text: String) throws {
    try expectEqual(response(bytes, "text/plain; charset=iso-8859-1").text, text)
  }

  @Test(
    "An encoding that is unknown or does not fit is an error that shows no text",
    arguments: ["klingon", "shift_jis"])
  func faults(charset: String) throws {
    let response = try response(Array("sentinel".utf8) + [0xFF, 0xFF, 0xFD], "text/plain; charset=\(charset)")
    let error = #expect(throws: HTTPError.self) { try response.text }

    expectEqual(error?.code, .undecodableBody)
    #expect(error?.message.contains("sentinel") == false)
    #expect(error?.message.contains(charset) == true)
  }

  @Test("A body that is not in memory is an error of the body")
  func file() {
    let response = HTTPResponse(
      to: anyRequest(), status: .ok, content: .file(URL(fileURLWithPath: "/missing"), size: 2))
    expectEqual(#expect(throws: HTTPError.self) { try response.text }?.code, .bodyInFile)
    expectEqual(#expect(throws: HTTPError.self) { try response.decoded(as: Int.self) }?.code, .bodyInFile)
  }

  @Test("A body is decoded as JSON, and a blank one as nil")
  func decoded() throws {
    try expectEqual(response(Array("[1]".utf8), nil).decoded(), [1])
    try expectEqual(response(Array(" \n".utf8), nil).decoded(as: [Int]?.self), nil)
    let text = try response(Array("[\"sentinel\"]".utf8), nil)
    let error = #expect(throws: HTTPError.self) { try text.decoded(as: [Int].self) }
    expectEqual(error?.code, .undecodableBody)
    #expect(error?.response != nil)
  }
}

@Suite("Suggested file names") struct SuggestedFileNameTests {
  private func name(_ disposition: String?, url: String = "http://a.example/") throws -> String? {
    var headers = HTTPHeaders()
    if let disposition { try headers.add(.init(received: "Content-Disposition", disposition)) }
    return HTTPResponse(to: try HTTPRequest(url), status: .ok, headers: headers).suggestedFileName
  }

  @Test(
    "A name is that of the field (RFC 6266), the encoded one first",
    arguments: [
      ("attachment; filename=example.html", "example.html"),
      ("INLINE; FILENAME= \"an example.html\"", "an example.html"),
      ("attachment; filename= \"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
      ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
      ("attachment; filename*=klingon''a; filename=b", "b"),
      ("attachment; filename*=utf-8''%FF; filename=b", "b"),
      ("attachment; filename=\"a\\\"b;c.txt\"", "a\"b;c.txt"),
      ("attachment; filename=\"€.txt\"", "€.txt"),
      ("attachment;;; ; filename=a; filename=b", "a"),
      ("filename=a", nil), ("attachment", nil), ("attachment; filename=", nil), (nil, nil),
    ])
  func field(disposition: String?, expected: String?) throws {
    try expectEqual(name(disposition), expected)
  }

  @Test(
    "A name never leads to another directory, hides, or shows another extension",
    arguments: [
      ("../../etc/passwd", "passwd"), ("C:\\\\Windows\\\\a.exe", "a.exe"), ("/a/", "a"), ("..", nil), (".", nil),
      (".bashrc", "bashrc"), (" . .a. . ", "a"), ("a\u{202E}gpj.exe", "agpj.exe"), ("a\u{0}b", "ab"),
      ("👩‍💻.txt", "👩‍💻.txt"),
    ])
  func safe(file: String, expected: String?) throws {
    let encoded = file.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    try expectEqual(name("attachment; filename*=UTF-8''\(encoded)"), expected?.replacing("\\\\", with: "\\"))
  }

  @Test("A long name keeps its extension, and whole characters")
  func long() throws {
    let name = try #require(try name("attachment; filename=\"\(String(repeating: "é", count: 300)).jpeg\""))

    #expect(name.hasSuffix("é.jpeg"))
    expectEqual(name.utf8.count, 255)
  }

  @Test(
    "Without the field, it is the last segment of the path",
    arguments: [
      ("http://a.example/films/7.mp4?token=1", "7.mp4"), ("http://a.example/a%20b%2Fc", "c"),
      ("http://a.example/a/", nil), ("http://a.example/%FF", nil), ("http://a.example", nil),
    ])
  func path(url: String, expected: String?) throws {
    try expectEqual(name(nil, url: url), expected)
  }
}
