import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

@Suite("LoopbackServer: request parser") struct LoopbackServerParserTests {
  /// The result of parsing, without the division of bodies into pieces: invariant 1 of the parser.
  struct Read: Equatable {
    var heads: [RequestHead] = []
    var bodies: [[UInt8]] = []
    var trailers: [[LoopbackRequest.Field]] = []
    var malformed: [String] = []
  }

  static func read(_ text: String, piece: Int = .max) -> Read {
    var parser = RequestParser()
    var read = Read()
    var rest = Array(text.utf8)[...]
    var body: [UInt8] = []
    while !rest.isEmpty {
      let part = rest.prefix(piece)
      rest = rest.dropFirst(part.count)
      for event in parser.receive(Array(part)) {
        switch event {
        case .head(let head): read.heads.append(head)
        case .body(let bytes): body += bytes
        case .end(let trailers):
          read.bodies.append(body)
          read.trailers.append(trailers)
          body = []
        case .malformed(let malformed, _): read.malformed.append(malformed.reason)
        }
      }
    }
    return read
  }

  static let good = [
    "GET / HTTP/1.1\r\n\r\n",
    "GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-A:  one \t\r\nx-a: two:2\r\nEmpty:\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET /next HTTP/1.1\r\n\r\n\r\nGET /third HTTP/1.0\r\n\r\n",
    "PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n\r\n01234567\r\n0\r\nT: 1\r\nU: 2\r\n\r\n",
    "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
  ]

  static let bad = [
    "GET /\r\n\r\n",
    "GET / HTTP/1.1 x\r\n\r\n",
    "G(T / HTTP/1.1\r\n\r\n",
    "GET  HTTP/1.1\r\n\r\n",
    "GET / HTTP/2.0\r\n\r\n",
    "GET / HTTP/1.1\n\n",
    "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
    "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
    "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    "GET / HTTP/1.1\r\nA : b\r\n\r\n",
    "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
    "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
    "\u{16}\u{3}\u{1}\u{2}",
    "\0\u{1}\u{2}garbage\r\n\r\n",
  ]

  @Test("The same bytes parse to the same requests, in pieces of any size", arguments: good + bad)
  func cuts(_ text: String) {
    let whole = Self.read(text)

    for piece in [1, 2, 3, 7] { expectEqual(Self.read(text, piece: piece), whole) }
  }

  @Test("A well-formed request is parsed", arguments: good)
  func wellFormed(_ text: String) {
    let read = Self.read(text)

    expectEqual(read.malformed, [])
    expectEqual(read.bodies.count, read.heads.count)
    #expect(!read.heads.isEmpty)
  }

  @Test("A malformed request is reported once, whatever bytes follow", arguments: bad)
  func malformed(_ text: String) {
    let read = Self.read(text + "GET / HTTP/1.1\r\n\r\n")

    expectEqual(read.malformed.count, 1)
    #expect(read.heads.count <= 1)
  }

  @Test("Header fields keep their order, their case and their repetition")
  func fields() {
    let head = Self.read(Self.good[1]).heads[0]

    expectEqual(head.headers.map(\.name), ["Host", "X-A", "x-a", "Empty"])
    expectEqual(head.headers.map(\.value), ["x", "one", "two:2", ""])
    expectEqual(head.bytes, Array(Self.good[1].utf8))
    expectEqual(head.target, "/a?b=c")
  }

  @Test("The chunks of a body are joined, and its trailers are retained")
  func chunked() {
    let read = Self.read(Self.good[4])

    expectEqual(read.bodies, [Array("hello\r\n01234567".utf8)])
    expectEqual(read.trailers, [[.init(name: "T", value: "1"), .init(name: "U", value: "2")]])
  }

  @Test("Pipelined requests are parsed one by one")
  func pipelined() {
    let read = Self.read(Self.good[3])

    expectEqual(read.heads.map(\.target), ["/", "/next", "/third"])
    expectEqual(read.heads.map(\.wantsClose), [false, false, true])
  }

  @Test(
    "A head of 1 MiB is parsed, and one byte more is malformed", arguments: [LongTest.count(1, small: 64), 4_096, .max])
  func limit(_ piece: Int) {
    let begin = "GET / HTTP/1.1\r\nX: "
    let filler = String(repeating: "a", count: RequestParser.limit - begin.utf8.count - 4)

    let most = Self.read(begin + filler + "\r\n\r\n", piece: piece)
    let more = Self.read(begin + filler + "a\r\n\r\n", piece: piece)

    expectEqual(most.heads.count, 1)
    expectEqual(most.malformed, [])
    #expect(more.heads.isEmpty)
    expectEqual(more.malformed, ["a header block over 1048576 bytes"])
  }

  @Test("No bytes crash the parser")
  func noise() {
    var generator = SplitMix64(seed: 42)
    let alphabet = Array("GET /\r\n\r\n HTTP/1.1:Content-Length5Transfer-Encodingchunked\0\u{7F}".utf8) + [0xFF]
    for _ in 0..<2_000 {
      var parser = RequestParser()
      let mutated = Self.good.randomElement(using: &generator)!.utf8.map { byte in
        Int.random(in: 0..<12, using: &generator) == 0 ? alphabet.randomElement(using: &generator)! : byte
      }
      _ = parser.receive(mutated)
      _ = parser.receive(mutated)
    }
  }
}
