import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport
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
    var (rest, body) = (parts[1], "")
    while let line = rest.firstRange(of: "\r\n"), let size = Int(rest[..<line.lowerBound], radix: 16) {
      rest = rest[line.upperBound...]
      body += rest.prefix(size)
      if size == 0 { return (body, rest == "\r\n") }
      guard rest.dropFirst(size).hasPrefix("\r\n") else { return rest.count <= size ? (body, false) : nil }
      rest = rest.dropFirst(size).dropFirst()  // The line break is one character.
    }
    return rest.isEmpty ? (body, false) : nil
  }
}

@Suite("LoopbackServer: streams", .onSockets, .timeLimit(.minutes(20))) struct LoopbackServerStreamTests {
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

  @Test("A transfer coding of the caller is not added again")
  func ownFraming() {
    server.on("/a", .stream(["a"], headers: [("transfer-encoding", "chunked")]))
    client.get("/a", "Connection: close\r\n")

    let text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n"
    #expect(client.readToEnd() == (text, .finished))
  }

  @Test("The response to HEAD has no body, however it is sent, and no pauses", arguments: Framing.allCases)
  fileprivate func head(framing: Framing) {
    server.on("/a", framing.answer.slow(every: .seconds(3_600)))
    client.get("/a", "Connection: close\r\n", method: "HEAD")

    #expect(client.readToEnd().text.hasSuffix("\r\n\r\n"))
  }

  @Test("An answer is cut after each number of bytes", arguments: Framing.allCases, [-1, 0, 1, 4, 8, 9, 20])
  fileprivate func cut(framing: Framing, position: Int) throws {
    server.on("/a", framing.answer.cut(at: position))
    client.get("/a")
    let (text, end) = client.readToEnd()
    let (body, isWhole) = try #require(framing.decode(text))

    expectEqual(end, .finished)
    expectEqual(body, String(Framing.body.prefix(max(0, position))))
    expectEqual(isWhole, (framing == .length && position >= 9))
  }

  @Test("A cut at the end of the body comes before the steps that follow it", arguments: Framing.allCases)
  fileprivate func order(framing: Framing) throws {
    server.on("/a", framing.answer.then(.stall).cut(at: 9))
    client.get("/a")
    let decoded = try #require(framing.decode(client.readToEnd().text))

    #expect(decoded == (Framing.body, framing == .length))
  }

  @Test("A cut between two pieces of a slow answer does not wait", arguments: Framing.allCases, [0, 2])
  fileprivate func slowCut(framing: Framing, position: Int) throws {
    server.on(
      "/a", framing.answer.slow(chunk: 20, every: .zero).slow(chunk: 2, every: .seconds(3_600)).cut(at: position))
    client.get("/a")
    let (text, end) = client.readToEnd()

    expectEqual(end, .finished)
    expectEqual(framing.decode(text)?.body, String(Framing.body.prefix(position)))
  }

  @Test("An answer that is no response is cut at its end")
  func noResponse() {
    server.on("/a", LoopbackAnswer.steps([.send("anything")]).cut(at: 3))
    client.get("/a")

    #expect(client.readToEnd() == ("anything", .finished))
  }

  @Test("An answer is held, and then reset, after each number of bytes", arguments: Framing.allCases, [0, 1, 4, 9])
  fileprivate func reset(framing: Framing, position: Int) async throws {
    let gate = LoopbackGate()
    server.on("/a", framing.answer.held(at: position, by: gate).reset(at: position))
    client.get("/a")
    _ = try await gate.waitForHolders().value
    let head = try #require(client.read(until: "\r\n\r\n"))
    let text = String(decoding: try #require(client.read(framing.length(of: position))), as: UTF8.self)
    expectEqual(framing.decode(head + text)?.body, String(Framing.body.prefix(position)))

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
    let pauses = answer.steps.count { if case .bodyPause = $0.kind { true } else { false } }
    let pieces = framing == .length ? [9] : [4, 5]
    expectEqual(pauses, pieces.map { ($0 + size - 1) / size }.reduce(0, +) - 1)
  }

  @Test("A slow answer stops with its server")
  func stopped() throws {
    server.on("/a", .respond(body: Framing.body).slow(every: .seconds(3_600)))
    client.get("/a")
    _ = try #require(client.read(until: "\r\n\r\n0"))
    server.stop()

    expectEqual(client.readToEnd().text, "")
  }

  @Test(
    "A client gets the bytes before a cut or a reset, and then a failure", arguments: Framing.allCases,
    [(0, false), (1, false), (4, false), (8, false), (0, true), (1, true), (4, true), (8, true)])
  fileprivate func client(framing: Framing, end: (position: Int, isReset: Bool)) async throws {
    let gate = LoopbackGate()
    let answer = framing.answer.held(at: end.position, by: gate)
    server.on("/a", end.isReset ? answer.reset(at: end.position) : answer.cut(at: end.position))
    let (text, error) = try await read { text in if text.utf8.count == end.position { gate.open() } }

    expectEqual(text, String(Framing.body.prefix(end.position)))
    #expect(error?.code == .truncatedBody || error?.code == .connectionLost)
  }

  @Test("A client gets a held body whole", arguments: Framing.allCases, [0, 1, 4, 8, 9])
  fileprivate func clientOfHeldBody(framing: Framing, position: Int) async throws {
    let gate = LoopbackGate()
    server.on("/a", framing.answer.held(at: position, by: gate))
    let (text, error) = try await read { text in if text.utf8.count == position { gate.open() } }

    expectEqual(text, Framing.body)
    #expect(error == nil)
  }

  @Test("A client gets a body that is cut at its end, unless its last chunk is missing", arguments: Framing.allCases)
  fileprivate func clientAtTheEnd(framing: Framing) async throws {
    server.on("/a", framing.answer.cut(at: 9))
    let (text, error) = try await read { _ in }

    expectEqual(text, Framing.body)
    #expect((error == nil) == (framing == .length))
  }

  /// Reads the body as a stream. Returns its text and its error, if any.
  private func read(onText: (String) -> Void) async throws -> (String, HTTPError?) {
    let response = try await SystemLoader(.init(timeout: nil)).stream { try HTTPRequest(server.url("/a")) }.value
    var text = ""
    onText(text)
    do {
      for try await chunk in response.bodyStream {
        text += String(decoding: chunk, as: UTF8.self)
        onText(text)
      }
      return (text, nil)
    } catch let error as HTTPError {
      return (text, error)
    }
  }
}

extension Framing {
  /// The number of bytes on the wire for the first bytes of the body. The framing of a chunk has three bytes before it and
  /// two after it.
  fileprivate func length(of position: Int) -> Int {
    guard self == .chunks else { return position }
    return position + [4, 9].count { $0 <= position } * 2 + [1, 5].count { $0 <= position } * 3
  }
}
