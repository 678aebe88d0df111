/// A response with the body `01234567`, in one of the framings of HTTP/1.1 (RFC 9112, section 6).
struct Framing: Sendable {
  let name: String
  let head: String
  /// The body with its framing.
  let content: String
  /// The number of bytes of `content` after which the body is whole, although the end of the framing can be missing.
  let wholeAt: Int

  static let body = "01234567"

  static let length = Framing(
    name: "length", head: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", content: body, wholeAt: 8)
  /// Chunks of different sizes, one with an extension.
  static let chunked = Framing(
    name: "chunked", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    content: "3;a=b\r\n012\r\n05\r\n34567\r\n0\r\n\r\n", wholeAt: 26)
  /// The body ends with its connection.
  static let untilClose = Framing(
    name: "untilClose", head: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", content: body, wholeAt: 8)

  /// The beginning of a response that announces the close of its connection.
  static let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n"

  static let all = [length, chunked, untilClose]

  var text: String { head + content }

  /// The first bytes of the response. A line end is two bytes.
  func text(cutAt count: Int) -> String { String(decoding: text.utf8.prefix(count), as: UTF8.self) }

  /// The number of bytes of the head.
  var headSize: Int { head.utf8.count }

  /// The number of bytes of the response.
  var size: Int { text.utf8.count }

  /// The head and the first half of the body.
  var half: String { text(cutAt: headSize + content.utf8.count / 2) }
}
