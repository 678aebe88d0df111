import FutureTreeTransportTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("CurlLoader: bodies in chunks") struct ChunkedBodyTests {
  /// Reads a text in pieces, and returns the body, the trailers in parentheses, and the fault or the end.
  private func read(_ text: String, piece: Int = .max) -> String {
    var body = ChunkedBody()
    var result = ""
    var rest = Array(text.utf8)[...]
    do {
      while !rest.isEmpty {
        let bytes = Array(rest.prefix(piece))
        rest = rest.dropFirst(bytes.count)
        try bytes.withUnsafeBytes { bytes in
          var input = bytes
          while let part = try body.next(&input) {
            switch part {
            case .bytes(let bytes): result += String(decoding: bytes, as: UTF8.self)
            case .trailer(let line): result += "(\(String(decoding: line, as: UTF8.self)))"
            }
          }
        }
      }
    } catch {
      let text = (error as? HTTPError)?.message ?? "\(error)"
      return "\(result)! \(text.trimmingPrefix("The response has ").prefix { $0 != "," })"
    }
    return body.hasEnded ? result + "." : result
  }

  @Test(
    "Chunks are joined, in pieces of any size",
    arguments: [
      ("5\r\nhello\r\n0\r\n\r\n", "hello."), ("0\r\n\r\n", "."), ("5\r\nhel", "hel"), ("5\r\nhello\r\n0\r\n", "hello"),
      ("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789."),
      ("00005;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "hello."), ("2 \t ;x\r\nab\r\n0\r\n\r\n", "ab."),
      ("2 \r\nab\r\n0\r\n\r\n", "ab."), ("1\r\na\r\n0\r\nT: 1\r\nU: 2\r\n\r\n", "a(T: 1)(U: 2)."),
    ])
  func joined(text: String, result: String) {
    for piece in [1, 2, 3, 7, .max] { expectEqual(read(text, piece: piece), result) }
  }

  @Test(
    "Framing that parsers interpret differently is refused",
    arguments: [
      ("2x\r\nab\r\n", "! other text after the size of a chunk"),
      ("0x2\r\nab\r\n", "! other text after the size of a chunk"),
      ("2 x\r\nab\r\n", "! other text after the size of a chunk"), ("\r\n", "! a chunk without a size"),
      ("-1\r\n", "! a chunk without a size"), ("g\r\n", "! a chunk without a size"),
      ("FFFFFFFFFFFFFFFFF\r\n", "! a chunk that is too large"), ("2\nab", "! other text after the size of a chunk"),
      ("2\rxab", "! a bare carriage return in its framing"), ("2;a\nab", "! a bare line feed in the line of a chunk"),
      ("2\r\nabc\r\n", "ab! a chunk that is longer than its size"),
      ("2\r\nab\rc", "ab! a chunk that is longer than its size"),
      ("0\r\n\r\nx", "! data after its last chunk"), ("0\r\nT\rU\r\n\r\n", "! a bare carriage return in its trailers"),
    ])
  func refused(text: String, result: String) {
    for piece in [1, 2, .max] { expectEqual(read(text, piece: piece), result) }
  }

  @Test("Extensions and trailers are limited")
  func limits() {
    let long = String(repeating: "a", count: ChunkedBody.limit + 1)

    expectEqual(read("1;\(long)"), "! an extension of a chunk that is too long")
    expectEqual(read("0\r\n\(long)"), "! trailers that are too long")
    expectEqual(
      read("1" + String(repeating: " ", count: ChunkedBody.limit + 2)), "! an extension of a chunk that is too long")
  }
}
