import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("CurlLoader: the head of a response") struct ResponseHeadTests {
  /// Reads lines, and returns what came of them as text.
  private func read(_ head: inout ResponseHead, _ lines: [[UInt8]]) -> String {
    lines.map { line in
      line.withUnsafeBytes { bytes in
        switch head.read(bytes) {
        case .none: ""
        case .head(let status, let fields):
          "\(status.code) " + fields.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
        case .invalid(let text): "invalid: \(text)"
        }
      }
    }.filter { !$0.isEmpty }.joined(separator: "; ")
  }

  private func read(_ lines: String..., mayBeHTTP2: Bool = false) -> String {
    var head = ResponseHead(mayBeHTTP2: mayBeHTTP2)
    return read(&head, lines.map { Array($0.utf8) })
  }

  @Test("A head is read with its fields in order, their case and their repetition")
  func fields() {
    expectEqual(read("HTTP/1.1 200 OK\r\n", "A:  b \t\r\n", "a: c:d\r\n", "Empty:\r\n", "\r\n"), "200 A=b|a=c:d|Empty=")
    expectEqual(read("HTTP/2 204 \n", "\n", mayBeHTTP2: true), "204 ")
    expectEqual(read("HTTP/1.1 404\r\n", "\r\n"), "404 ")
  }

  @Test("A line that continues a field is joined with a blank (RFC 9112, section 5.2)")
  func folded() {
    expectEqual(read("HTTP/1.1 200 OK\r\n", "A: b\r\n", "\t  c \r\n", "\r\n"), "200 A=b c")
    expectEqual(read("HTTP/1.1 200 OK\r\n", " c\r\n"), "invalid: A line of its head has no colon.")
  }

  @Test("Heads come before the final one, and fields after the body are trailers")
  func heads() {
    var head = ResponseHead()
    let lines = ["HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "A: b"].map { Array($0.utf8) }

    let events = read(&head, lines)
    expectEqual(events, "103 Link=</a>")
    #expect(!head.hasEnded)
    #expect(head.hasBegun)
    expectEqual(read(&head, [[]]), "200 A=b")
    #expect(head.hasEnded)
    expectEqual(read(&head, [Array("T: 1".utf8), []]), "")

    expectEqual(head.trailers.map(\.name), ["T"])
    expectEqual(head.status, .ok)
  }

  @Test("A change of the protocol ends the head")
  func switching() {
    var head = ResponseHead()

    expectEqual(read(&head, [Array("HTTP/1.1 101 Switching".utf8), []]), "101 ")
    #expect(head.hasEnded)
  }

  @Test(
    "A first line that is no status line is refused",
    arguments: [
      "", "ICY 200 OK", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 20x", "HTTP/1.1 020 A", "200 OK",
    ])
  func statusLine(line: String) {
    expectEqual(read(line), "invalid: Its first line is no status line.")
  }

  @Test("HTTP/2 is refused on a connection that speaks HTTP/1.1", arguments: ["HTTP/2 200", "HTTP/2.0 200 OK"])
  func version(line: String) {
    expectEqual(read(line), "invalid: Its first line says HTTP/2, and the connection speaks HTTP/1.1.")
  }

  @Test("A line without a colon is refused, and so is a head that is too long")
  func refused() {
    expectEqual(read("HTTP/1.1 200 OK", "no colon"), "invalid: A line of its head has no colon.")
    let long = "A: " + String(repeating: "b", count: ResponseHead.limit)
    #expect(read("HTTP/1.1 200 OK", long).hasPrefix("invalid: Its head has more than"))
  }

  @Test("Values are UTF-8 or ISO-8859-1, and values that a client sends back lose bytes visibly")
  func encodings() {
    var head = ResponseHead()
    let lines: [[UInt8]] = [
      Array("HTTP/1.1 200 OK".utf8), Array("A: ü".utf8), Array("B: ".utf8) + [0xFC], Array("ETag: ".utf8) + [0xFC], [],
    ]

    expectEqual(read(&head, lines), "200 A=ü|B=ü|ETag=\u{FFFD}")
  }
}
