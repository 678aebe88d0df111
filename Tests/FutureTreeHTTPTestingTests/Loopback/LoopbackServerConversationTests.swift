import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

@Suite("LoopbackServer: the state of a connection", .onSockets) struct LoopbackServerConversationTests {
  /// The actions of a conversation as text.
  static func words(_ actions: [Conversation.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .requestBegan(let request): "began \(request.target)"
      case .bodyArrived(let bytes): "body \(String(decoding: bytes, as: UTF8.self))"
      case .requestEnded(.complete, _): "complete"
      case .requestEnded(let progress, _): "\(progress)"
      case .choose(let sequence, let moment): "choose \(sequence) \(moment)"
      case .write(let bytes): "write \(String(decoding: bytes, as: UTF8.self))"
      case .startTimer(let duration): "timer \(duration)"
      case .hold: "hold"
      case .setReading(let reads): "reading \(reads)"
      case .finishSending: "finish"
      case .end(let state, _, let resetting): "end \(state)\(resetting ? " with reset" : "")"
      }
    }
  }

  var conversation = Conversation()

  mutating func handle(_ event: Conversation.Event) -> [String] { Self.words(conversation.handle(event)) }
  mutating func receive(_ text: String) -> [String] { handle(.received(Array(text.utf8))) }

  @Test("A request is recorded before its answer is chosen, and the answer runs step by step")
  mutating func steps() {
    let gate = LoopbackGate()

    let received = receive("PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nok")
    let chosen = handle(.chosen([.send("1"), .hold(gate), .pause(.seconds(2)), .finishSending, .reset, .send("2")]))

    expectEqual(received, ["began /a", "body ok", "complete", "choose 1 requestComplete"])
    expectEqual(chosen, ["write 1"])
    expectEqual(handle(.written), ["hold"])
    expectEqual(handle(.gateOpened), ["timer 2.0 seconds"])
    expectEqual(handle(.timeElapsed), ["finish", "end closedByServer with reset"])
    expectEqual(receive("GET / HTTP/1.1\r\n\r\n"), [])
  }

  @Test("A pipelined request is recorded at once and answered in turn")
  mutating func turns() {
    _ = receive("GET /1 HTTP/1.1\r\n\r\n")
    _ = handle(.chosen([.send("1")]))

    expectEqual(receive("GET /2 HTTP/1.1\r\n\r\n"), ["began /2", "complete"])
    expectEqual(handle(.written), ["choose 2 requestComplete"])
  }

  @Test("The server looks for an answer after the head and again after the body")
  mutating func moments() {
    expectEqual(receive("PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n"), ["began /a", "choose 1 headComplete"])
    expectEqual(handle(.chosen(nil)), [])
    expectEqual(receive("o"), ["body o"])
    expectEqual(receive("k"), ["body k", "complete", "choose 1 requestComplete"])
  }

  @Test("After an early answer the server reads the body before the next request")
  mutating func early() {
    _ = receive("PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n")

    expectEqual(handle(.chosen([.send("early")])), ["write early"])
    expectEqual(handle(.written), [])
    expectEqual(receive("okGET /b HTTP/1.1\r\n\r\n").last, "choose 2 requestComplete")
  }

  @Test("A late event changes nothing")
  mutating func late() {
    _ = receive("GET /a HTTP/1.1\r\n\r\n")
    _ = handle(.chosen([.send("1"), .stall]))

    expectEqual(handle(.timeElapsed), [])
    expectEqual(handle(.gateOpened), [])
    expectEqual(handle(.chosen([.reset])), [])
    expectEqual(handle(.written), [])
    expectEqual(handle(.written), [])
  }

  static let slowAnswers: [LoopbackAnswer] = [
    .stall, [.hold(LoopbackGate())], [.pause(.seconds(1))], [.send("x")], [.stopReading, .stall],
    [.drip("xyz", every: .seconds(1))],
  ]

  @Test("A client that disconnects abandons the current request", arguments: slowAnswers)
  mutating func disconnects(_ answer: LoopbackAnswer) {
    _ = receive("GET /a?b HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")
    _ = handle(.chosen(answer))

    expectEqual(handle(.clientLeft), [#"end closedByClient(while: Optional("/a"))"#])
    expectEqual(handle(.clientLeft), [])
  }

  @Test("Reading resumes after the answer that stopped it")
  mutating func readingAgain() {
    _ = receive("GET /a HTTP/1.1\r\n\r\n")

    expectEqual(handle(.chosen([.stopReading, .stopReading, .send("x")])), ["reading false", "write x"])
    expectEqual(handle(.written), ["reading true"])
  }

  @Test("A step reads a number of bytes, or the rest of the request")
  mutating func readingInParts() {
    _ = receive("PUT /a HTTP/1.1\r\nContent-Length: 6\r\n\r\n")

    expectEqual(handle(.chosen([.stopReading, .read(3), .send("x"), .read(9), .read(1), .close])).last, "reading true")
    expectEqual(receive("12"), ["body 12"])
    expectEqual(receive("34"), ["body 34", "reading false", "write x"])
    expectEqual(handle(.written), ["reading true"])
    expectEqual(receive("56"), ["body 56", "complete", "end closedByServer"])
  }

  @Test("A drip pauses only between its pieces")
  mutating func drip() {
    _ = receive("GET /a HTTP/1.1\r\n\r\n")

    expectEqual(handle(.chosen([.drip("abc", chunk: 2, every: .seconds(1))])), ["write ab"])
    expectEqual(handle(.written), ["timer 1.0 seconds"])
    expectEqual(handle(.timeElapsed), ["write c"])
    expectEqual(handle(.written), [])
    expectEqual(receive("GET /b HTTP/1.1\r\n\r\n").last, "choose 2 requestComplete")
  }

  @Test("A greeting precedes every answer")
  mutating func greeting() {
    expectEqual(handle(.accepted([.send("hello")])), ["write hello"])
    expectEqual(receive("GET /a HTTP/1.1\r\n\r\n"), ["began /a", "complete"])
    expectEqual(handle(.written), ["choose 1 requestComplete"])
  }
}
