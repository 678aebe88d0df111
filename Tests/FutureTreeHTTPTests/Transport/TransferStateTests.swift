import Foundation
import Testing

@testable import FutureTreeHTTP

@Suite("TransferState") struct TransferStateTests {
  private var state = TransferState(method: .get, maximumBodySize: 10)

  private func head(_ status: Int = 200, _ fields: (String, String)...) throws -> TransferState.Head {
    var headers = HTTPHeaders()
    for (name, value) in fields { try headers.add(name, value) }
    return TransferState.Head(status: HTTPStatus(status), headers: headers)
  }

  private func summary(_ action: TransferState.Action) -> String {
    switch action {
    case .none: "none"
    case .stop: "stop"
    case .end(.response(let head, let body), _): "\(head.status) \(String(decoding: body, as: UTF8.self))"
    case .end(.failure(let error), let stops): "\(error.code)\(stops ? ", stop" : "")"
    case .end(.cancelled, _): "cancelled"
    }
  }

  private func data(_ text: String) -> Data { Data(text.utf8) }

  @Test("head, body and end make a response")
  mutating func response() throws {
    let actions = [
      state.headArrived(try head(200, ("Content-Length", "4"))), state.dataArrived(data("ab")),
      state.dataArrived(data("cd")), state.transportEnded(.completed),
    ]

    #expect(actions.map(summary) == ["none", "none", "none", "200 abcd"])
  }

  @Test("a cancellation stops the transport, and ends when that confirms")
  mutating func cancelled() throws {
    let actions = [state.cancelAsked(), state.cancelAsked(), state.transportEnded(.stopped)]

    #expect(actions.map(summary) == ["stop", "none", "cancelled"])
  }

  @Test("a success that was faster than the cancellation stays one")
  mutating func raced() throws {
    let actions = [
      state.headArrived(try head()), state.dataArrived(data("ab")), state.cancelAsked(),
      state.transportEnded(.completed),
    ]

    #expect(actions.map(summary).suffix(2) == ["stop", "200 ab"])
  }

  @Test("a success that lost bytes after the cancellation is none")
  mutating func lostBytes() throws {
    _ = state.headArrived(try head())
    _ = state.cancelAsked()
    _ = state.dataArrived(data("ab"))

    #expect(summary(state.transportEnded(.completed)) == "cancelled")
  }

  @Test("a transport that stops without being asked has failed")
  mutating func stoppedByItself() {
    #expect(summary(state.transportEnded(.stopped)) == "transportFailed")
  }

  @Test("a refused challenge ends with the answer that asked for it")
  mutating func challenge() throws {
    _ = state.headArrived(try head(401))
    _ = state.dataArrived(data("who"))
    state.challengeRefused()

    #expect(summary(state.transportEnded(.stopped)) == "401 who")
  }

  @Test("a deadline ends it at once; what is reported later changes nothing")
  mutating func deadline() throws {
    let actions = [
      state.deadlinePassed(), state.deadlinePassed(), state.headArrived(try head()), state.dataArrived(data("a")),
      state.cancelAsked(), state.transportEnded(.completed),
    ]

    #expect(actions.map(summary) == ["timedOut, stop", "none", "none", "none", "none", "none"])
  }

  @Test("a body over the limit ends it at once, declared or not")
  mutating func limit() throws {
    var undeclared = state

    #expect(summary(state.headArrived(try head(200, ("Content-Length", "11")))) == "bodyTooLarge, stop")
    _ = undeclared.headArrived(try head())
    #expect(summary(undeclared.dataArrived(data("0123456789"))) == "none")
    #expect(summary(undeclared.dataArrived(data("A"))) == "bodyTooLarge, stop")
  }

  @Test("a body that is shorter or longer than declared is an error", arguments: ["abc", "abcde"])
  mutating func length(body: String) throws {
    _ = state.headArrived(try head(200, ("Content-Length", "4")))
    _ = state.dataArrived(data(body))

    #expect(summary(state.transportEnded(.completed)) == "truncatedBody")
  }

  @Test(
    "headers that do not say plainly where the body ends are refused",
    arguments: [
      ([("Content-Length", "2, 3")], "ambiguousBody"),
      ([("Content-Length", "2"), ("Content-Length", "3")], "ambiguousBody"),
      ([("Content-Length", "-2")], "ambiguousBody"), ([("Content-Length", "99999999999999999999")], "ambiguousBody"),
      ([("Content-Length", "0x2")], "ambiguousBody"), ([("Content-Length", "")], "ambiguousBody"),
      ([("Content-Length", "2"), ("Transfer-Encoding", "chunked")], "ambiguousBody"),
      ([("Content-Encoding", "gzip")], "encodedBody"), ([("Content-Encoding", "identity, br")], "encodedBody"),
    ] as [([(String, String)], String)])
  func framing(fields: [(String, String)], code: String) throws {
    var headers = HTTPHeaders()
    for (name, value) in fields { try headers.add(name, value) }
    var state = state

    let action = state.headArrived(TransferState.Head(status: .ok, headers: headers))

    #expect(summary(action) == "\(code), stop")
  }

  @Test("the same length twice is one length, and identity is no encoding")
  mutating func plainFraming() throws {
    let head = try head(200, ("Content-Length", "2, 2"), ("Content-Encoding", "identity"))

    #expect(summary(state.headArrived(head)) == "none")
  }

  @Test("a HEAD request has no body, whatever is declared")
  func headRequest() throws {
    var state = TransferState(method: .head, maximumBodySize: 10)

    _ = state.headArrived(try head(200, ("Content-Length", "100")))

    #expect(summary(state.transportEnded(.completed)) == "200 ")
  }
}
