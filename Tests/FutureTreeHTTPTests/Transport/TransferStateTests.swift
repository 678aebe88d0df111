import Foundation
import Testing

@testable import FutureTreeHTTP

@Suite("TransferState") struct TransferStateTests {
  private var state = TransferState(TransferState.Rules(maximumBodySize: 10))

  private func head(_ status: Int = 200, _ fields: (String, String)...) throws -> TransferState.Head {
    var headers = HTTPHeaders()
    for (name, value) in fields { try headers.add(name, value) }
    return TransferState.Head(status: HTTPStatus(status), headers: headers)
  }

  private func summary(_ action: TransferState.Action) -> String {
    switch action {
    case .none: "none"
    case .stop: "stop"
    case .work(let work):
      [
        work.opensFile ? "open" : nil, work.writing.map { "write \(String(decoding: $0, as: UTF8.self))" },
        work.progress.map { "tell \($0.sent.completed) \($0.received.completed)" },
      ].compactMap { $0 }.joined(separator: ", ")
    case .end(.file(let head), _): "\(head.status) in a file"
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
    var state = TransferState(TransferState.Rules(expectsBody: false, maximumBodySize: 10))

    _ = state.headArrived(try head(200, ("Content-Length", "100")))

    #expect(summary(state.transportEnded(.completed)) == "200 ")
  }

  @Test("informational answers are not the answer", arguments: [100, 102, 103])
  mutating func informational(status: Int) throws {
    _ = state.headArrived(try head(status))

    #expect(!state.hasHead)
    #expect(summary(state.transportEnded(.completed)) == "invalidResponse")
  }

  @Test("force ends it at once; a success that comes later changes nothing")
  mutating func forced() throws {
    _ = state.headArrived(try head())

    #expect(summary(state.cancelAsked(isForced: true)) == "cancelled")
    #expect(summary(state.transportEnded(.completed)) == "none")
  }

  @Test("a deadline that passes after a cancellation ends it as cancelled")
  mutating func deadlineAfterCancel() {
    _ = state.cancelAsked()

    #expect(summary(state.deadlinePassed()) == "cancelled")
  }

  @Test("a body that cannot be sent ends it at once")
  mutating func bodyFailed() {
    #expect(summary(state.bodyFailed(HTTPError(.wrongBodyLength, "short"))) == "wrongBodyLength, stop")
    #expect(summary(state.bodyFailed(HTTPError(.wrongBodyLength, "short"))) == "none")
  }
}

@Suite("TransferState, with work") struct TransferStateWorkTests {
  private static func state(file: Int? = nil, idle: Duration? = nil, reports: Bool = false) -> TransferState {
    TransferState(
      TransferState.Rules(
        maximumBodySize: 4, maximumFileSize: file, idleTimeout: idle, reportsProgress: reports, bodyLength: 10))
  }

  private func head(_ status: Int = 200, length: Int? = nil) throws -> TransferState.Head {
    var headers = HTTPHeaders()
    if let length { try headers.add("Content-Length", "\(length)") }
    return TransferState.Head(status: HTTPStatus(status), headers: headers)
  }

  private func work(_ action: TransferState.Action) -> TransferState.Work? {
    if case .work(let work) = action { work } else { nil }
  }

  private func ending(_ action: TransferState.Action) -> TransferState.Ending? {
    if case .end(let ending, _) = action { ending } else { nil }
  }

  private func code(_ action: TransferState.Action) -> HTTPError.Code? {
    if case .failure(let error) = ending(action) { error.code } else { nil }
  }

  @Test("the body of a success goes to the file, under the limit of the file")
  func file() throws {
    var state = Self.state(file: 6)

    #expect(work(state.headArrived(try head()))?.opensFile == true)
    _ = state.worked()
    #expect(work(state.dataArrived(Data("012345".utf8)))?.writing == Data("012345".utf8))
    _ = state.worked()

    guard case .file = ending(state.transportEnded(.completed)) else {
      Issue.record("no file")
      return
    }
  }

  @Test("the body of a failure is an explanation, and comes in memory, under the limit of memory")
  func explanation() throws {
    var state = Self.state(file: 6)

    #expect(work(state.headArrived(try head(404))) == nil)
    #expect(work(state.dataArrived(Data("0123".utf8))) == nil)
    #expect(code(state.dataArrived(Data("4".utf8))) == .bodyTooLarge)
  }

  @Test("a body over the limit of its file is an error, declared or not")
  func fileLimit() throws {
    var (declared, undeclared) = (Self.state(file: 6), Self.state(file: 6))

    #expect(code(declared.headArrived(try head(length: 7))) == .bodyTooLarge)
    _ = undeclared.headArrived(try head())
    _ = undeclared.worked()
    #expect(code(undeclared.dataArrived(Data("0123456".utf8))) == .bodyTooLarge)
  }

  @Test("a file that cannot be written fails the transfer, and stops the transport")
  func cannotWrite() throws {
    var state = Self.state(file: 6)
    _ = state.headArrived(try head())

    let action = state.worked(HTTPError(.unwritableBody, "full"))

    #expect(code(action) == .unwritableBody)
    if case .end(_, let stopsTransport) = action { #expect(stopsTransport) }
  }

  @Test("an ending that comes while work is done waits until it is done, and comes once")
  func heldEnd() throws {
    var state = Self.state(file: 6)
    _ = state.headArrived(try head())
    _ = state.worked()
    _ = state.dataArrived(Data("01".utf8))

    #expect(code(state.deadlinePassed()) == nil)
    #expect(ending(state.cancelAsked(isForced: true)) == nil)
    #expect(code(state.worked()) == .timedOut)
    #expect(ending(state.transportEnded(.completed)) == nil)
  }

  @Test("progress never goes back and never passes the total, also when a body is sent twice")
  func progress() throws {
    var state = Self.state(reports: true)
    var seen: [Int] = []
    for count in [4, 3, 10, 14, 20] {
      guard let progress = work(state.bodySent(count))?.progress else { continue }
      seen.append(progress.sent.completed)
      _ = state.worked()
    }

    #expect(seen == [4, 10])
    let head = work(state.headArrived(try head(length: 4)))?.progress
    #expect(head?.received == HTTPProgress.Part(completed: 0, total: 4))
    _ = state.worked()
    #expect(work(state.dataArrived(Data("01".utf8)))?.progress?.received.completed == 2)
  }

  @Test("nobody who wants no progress is told any")
  func noProgress() throws {
    var state = Self.state()

    #expect(work(state.bodySent(4)) == nil)
    #expect(work(state.headArrived(try head())) == nil)
    #expect(work(state.dataArrived(Data("01".utf8))) == nil)
  }

  @Test("idling is measured from the last byte, either way")
  func idle() throws {
    var state = Self.state(idle: .seconds(10))

    _ = state.bodySent(1, now: .seconds(4))
    #expect(state.idleTimerFired(now: .seconds(10)).again == .seconds(4))
    _ = state.headArrived(try head(), now: .seconds(12))
    #expect(state.idleTimerFired(now: .seconds(14)).again == .seconds(8))
    _ = state.dataArrived(Data("0".utf8), now: .seconds(20))
    let (action, again) = state.idleTimerFired(now: .seconds(30))

    #expect(code(action) == .timedOut)
    #expect(again == nil)
  }
}
