import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import Testing

@testable import FutureTreeHTTPTesting

/// A body of nine bytes, with a length or in chunks.
private enum Framing: CaseIterable, Sendable {
  case length, chunks

  static let body = "012345678"

  var answer: LoopbackAnswer {
    switch self {
    case .length: .respond(body: Framing.body)
    case .chunks: .stream(["0123", "", "45678"])
    }
  }

  /// Returns the bytes of the body, and whether they are whole.
  func decode(_ text: String) -> (body: String, isWhole: Bool)? {
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    guard self == .chunks else { return (String(parts[1]), parts[1].utf8.count == 9) }
    let lines = parts[1].components(separatedBy: "\r\n")
    let chunks = stride(from: 0, to: lines.count - 1, by: 2).map { (Int(lines[$0], radix: 16), lines[$0 + 1]) }
    guard chunks.allSatisfy({ $0.0 == $0.1.utf8.count }) else { return nil }
    return (chunks.map(\.1).joined(), chunks.last?.0 == 0)
  }
}

@Suite("LoopbackServer: streams", .onSockets, .timeLimit(.minutes(60))) struct LoopbackServerStreamTests {
  private let server: LoopbackServer
  private let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  @Test("A body in chunks has a frame for each chunk, and the last chunk")
  func chunks() {
    server.on("/a", .stream(["one", "", String(repeating: "2", count: 16)], headers: [("X-A", "b")]))
    client.get("/a", "Connection: close\r\n")

    let text =
      "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      + "3\r\none\r\n10\r\n2222222222222222\r\n0\r\n\r\n"
    #expect(client.readToEnd() == (text, .finished))
  }

  @Test("The response to HEAD has no body, however it is sent", arguments: Framing.allCases)
  fileprivate func head(framing: Framing) {
    server.on("/a", framing.answer.slow(every: .zero))
    client.get("/a", "Connection: close\r\n", method: "HEAD")

    #expect(client.readToEnd().text.hasSuffix("\r\n\r\n"))
  }

  @Test("An answer is cut after each number of bytes", arguments: Framing.allCases, [-1, 0, 1, 4, 8, 9, 20])
  fileprivate func cut(framing: Framing, position: Int) throws {
    server.on("/a", framing.answer.cut(at: position))
    client.get("/a")
    let (text, end) = client.readToEnd()
    let (body, isWhole) = try #require(framing.decode(text))

    #expect(end == .finished)
    #expect(body == String(Framing.body.prefix(max(0, position))))
    #expect(isWhole == (framing == .length && position >= 9))
  }

  @Test("An answer is held, and then reset, after each number of bytes", arguments: Framing.allCases, [0, 1, 4, 9])
  fileprivate func reset(framing: Framing, position: Int) async throws {
    let gate = LoopbackGate()
    server.on("/a", framing.answer.held(at: position, by: gate).reset(at: position))
    client.get("/a")
    _ = try await gate.waitForHolders().value
    let head = try #require(client.read(until: "\r\n\r\n"))
    let text = String(decoding: try #require(client.read(framing.length(of: position))), as: UTF8.self)
    #expect(framing.decode(head + text)?.body == String(Framing.body.prefix(position)))

    gate.open()

    #expect(client.readToEnd() == ("", .reset))
  }

  @Test(
    "A held answer continues with the next byte when its gate opens", arguments: Framing.allCases, [0, 1, 4, 9, 20])
  fileprivate func held(framing: Framing, position: Int) async throws {
    let gate = LoopbackGate()
    server.on("/a", framing.answer.held(at: position, by: gate))
    client.get("/a", "Connection: close\r\n")
    _ = try await gate.waitForHolders().value
    gate.open()
    let decoded = try #require(framing.decode(client.readToEnd().text))

    #expect(decoded == (Framing.body, true))
  }

  @Test(
    "A slow answer has the same body, in pieces with pauses between them", arguments: Framing.allCases, [1, 2, 5, 20])
  fileprivate func slow(framing: Framing, size: Int) throws {
    let answer = framing.answer.slow(chunk: size, every: .milliseconds(1))
    server.on("/a", answer)
    client.get("/a", "Connection: close\r\n")
    let decoded = try #require(framing.decode(client.readToEnd().text))

    #expect(decoded == (Framing.body, true))
    let pauses = answer.steps.count { if case .pause = $0.kind { true } else { false } }
    let pieces = framing == .length ? [9] : [4, 5]
    #expect(pauses == pieces.map { ($0 + size - 1) / size }.reduce(0, +) - 1)
  }

  @Test("A slow answer stops with its server")
  func stopped() throws {
    server.on("/a", .respond(body: Framing.body).slow(every: .seconds(3_600)))
    client.get("/a")
    _ = try #require(client.read(until: "\r\n\r\n0"))
    server.stop()

    #expect(client.readToEnd().text == "")
  }

  @Test("A client gets the bytes before a cut, and then a failure", arguments: Framing.allCases, [1, 4, 8])
  fileprivate func client(framing: Framing, position: Int) async throws {
    let gate = LoopbackGate()
    server.on("/a", framing.answer.held(at: position, by: gate).cut(at: position))
    let response = try await URLSessionLoader(.init(timeout: nil)).stream { try HTTPRequest(server.url("/a")) }.value
    var text = ""
    let error = await #expect(throws: HTTPError.self) {
      for try await chunk in response.bodyStream {
        text += String(decoding: chunk, as: UTF8.self)
        if text.utf8.count == position { gate.open() }
      }
    }

    #expect(text == String(Framing.body.prefix(position)))
    #expect(error?.code == .truncatedBody || error?.code == .connectionLost)
  }
}

extension Framing {
  /// The number of bytes on the wire for the first bytes of the body.
  fileprivate func length(of position: Int) -> Int {
    guard self == .chunks else { return position }
    let frame = 5
    return position == 0 ? 0 : position <= 4 ? position + frame : position + 2 * frame
  }
}
