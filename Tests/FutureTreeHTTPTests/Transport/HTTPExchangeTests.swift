import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// A transport that ends only when the test says so.
@Suite("HTTPExchange") struct HTTPExchangeTests {
  private let live = LiveLoads()
  private let clock = ManualClock()
  private let log = Recorder()

  private func exchange(
    timeout: Duration? = nil, idle: Duration? = nil, _ configure: (inout HTTPRequest) -> Void = { _ in }
  ) throws -> (HTTPExchange, Future<HTTPResponse>) {
    var request = try HTTPRequest("http://localhost/")
    configure(&request)
    let limits = HTTPExchange.Limits(timeout: timeout, idleTimeout: idle, maximumBodySize: 100)
    let exchange = try HTTPExchange(of: request, limits, clock: clock)
    return (exchange, exchange.start(in: live) { [log] in log("stop") })
  }

  @Test("Head, bytes and end are a response, and a transport that has ended is not stopped")
  func whole() throws {
    let (exchange, load) = try exchange(timeout: .seconds(9), idle: .seconds(3))

    exchange.receiveHead(HTTPStatus(100), [])
    #expect(!exchange.hasHead && exchange.remainingBodyLength == nil)
    exchange.receiveHead(.ok, [("Content-Length", "2")])
    exchange.receive(Data("o".utf8))
    expectEqual(exchange.remainingBodyLength, 1)
    exchange.receive(Data("k".utf8))
    expectEqual(exchange.remainingBodyLength, 0)
    #expect(exchange.hasHead)
    expectEqual(load.text, "pending")
    expectEqual(live.count, 1)
    exchange.end(.completed)

    try expectEqual(load.outcomeIfCompleted?.get().body, Data("ok".utf8))
    expectEqual(live.count, 0)
    expectEqual(clock.timerCount, 0)
    load.cancel(.forceImmediately)
    expectEqual(log.entries, [])
  }

  @Test(
    "An interim response is not reported after a cancellation request, also one of its closure",
    arguments: [true, false])
  func interim(isForced: Bool) throws {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let (exchange, future) = try exchange { request in
      request.onInterimResponse = { [log] response in
        log("\(response.status.code) \(response.headers.values(for: "Link"))")
        if response.status.code == 103 { load.value?.cancel(isForced ? .forceImmediately : []) }
        log(load.value?.text ?? "")
      }
    }
    load.value = future

    exchange.receiveHead(
      HTTPStatus(102), [(name: "Link", value: "a"), (name: "Link", value: "b"), (name: "Bad name", value: "c")])
    exchange.receiveHead(HTTPStatus(103), [])
    exchange.receiveHead(HTTPStatus(103), [])

    let end = isForced ? ["cancelled", "stop"] : ["stop", "pending"]
    expectEqual(log.entries, ["102 [\"a\", \"b\"]", "pending", "103 []"] + end)
    expectEqual(future.text, isForced ? "cancelled" : "pending")
    exchange.end(.stopped)
    expectEqual(future.text, "cancelled")
    load.value = nil
  }

  @Test("Trailers are apart from the headers, also those of a stream", arguments: [true, false])
  func trailers(isStream: Bool) async throws {
    let (exchange, load) = try exchange { if isStream { $0.delivery = .stream() } }

    exchange.receiveHead(.ok, [("X-Sum", "0")])
    exchange.receive(Data("ok".utf8))
    expectEqual(load.outcomeIfCompleted.map { (try? $0.get().trailers.count) == 0 }, isStream ? true : nil)
    exchange.receiveTrailers([(name: "X-Sum", value: "1"), (name: "Bad name", value: "2")])
    exchange.end(.completed)

    let response = try await load.value
    expectEqual(response.trailers.map { "\($0.name): \($0.value)" }, ["X-Sum: 1"])
    expectEqual(response.headers.values(for: "X-Sum"), ["0"])
  }

  @Test("Events before the start are kept", arguments: [true, false], [true, false])
  func beforeStart(isStream: Bool, hasEnded: Bool) async throws {
    var request = try HTTPRequest("http://localhost/")
    if isStream { request.delivery = .stream() }
    let exchange = try HTTPExchange(
      of: request, .init(timeout: .seconds(9), idleTimeout: nil, maximumBodySize: 9), clock: clock)
    exchange.receiveHead(.ok, [("Content-Length", "2")])
    exchange.receive(Data("ok".utf8))
    if hasEnded { exchange.end(.completed) }

    let load = exchange.start(in: live) { [log] in log("stop") }
    if !hasEnded { exchange.end(.completed) }

    let response = try #require(load.outcomeIfCompleted).get()
    let text = try await response.bodyStream.reduce(into: "") { $0 += String(decoding: $1, as: UTF8.self) }
    expectEqual(text, "ok")
    expectEqual(live.count, 0)
    expectEqual(log.entries, [])
    #expect(isStream || clock.timerCount == 0)
  }

  @Test("A failure before the start is the outcome, and stops the transport at the start")
  func failedBeforeStart() throws {
    let exchange = try HTTPExchange(
      of: HTTPRequest("http://localhost/"), .init(timeout: .seconds(9), idleTimeout: .seconds(3), maximumBodySize: 9),
      clock: clock)
    exchange.receiveHead(.ok, [("Content-Length", "100")])

    let load = exchange.start(in: live) { [log] in log("stop") }

    expectEqual(load.outcomeIfCompleted?.code, .bodyTooLarge)
    expectEqual(log.entries, ["stop"])
    expectEqual(clock.timerCount, 0)
    exchange.end(.stopped)
    expectEqual(live.count, 0)
  }

  @Test("A change of the protocol (101) is an error")
  func protocolChange() throws {
    let (exchange, load) = try exchange()

    exchange.receiveHead(HTTPStatus(101), [("Upgrade", "websocket")])

    expectEqual(load.outcomeIfCompleted?.code, .invalidResponse)
    expectEqual(log.entries, ["stop"])
  }

  @Test("A response without its last bytes is an error (H12, whole bodies)")
  func truncated() throws {
    let (exchange, load) = try exchange()

    exchange.receiveHead(.ok, [("Content-Length", "2")])
    exchange.receive(Data("o".utf8))
    exchange.end(.completed)

    expectEqual(load.outcomeIfCompleted?.code, .truncatedBody)
  }

  @Test("A cancellation request stops the transport once, and its end confirms (H5, confirmed cancellation)")
  func cancelled() throws {
    let (exchange, load) = try exchange()
    #expect(exchange.isWanted)

    load.cancel()
    load.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["stop"])
    expectEqual(load.text, "pending")
    #expect(!exchange.isWanted)
    expectEqual(live.count, 1)
    exchange.end(.stopped)
    expectEqual(load.text, "cancelled")
    expectEqual(live.count, 0)
  }

  @Test("Force completes the load at once, and a reset waits for the end of the transport")
  func forced() throws {
    let (exchange, load) = try exchange()

    load.cancel(.forceImmediately)
    let reset = live.drain()

    expectEqual(log.entries, ["stop"])
    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "pending")
    exchange.end(.stopped)
    expectEqual(reset.text, "success")
  }

  @Test("A reset stops a load that others share")
  func reset() throws {
    let (exchange, load) = try exchange()
    let waiting = load.shared().map { $0 }

    let reset = live.drain()

    expectEqual(log.entries, ["stop"])
    exchange.end(.stopped)
    expectEqual(waiting.text, "cancelled")
    expectEqual(reset.text, "success")
  }

  @Test("A response that is complete after the request is kept")
  func raced() throws {
    let (exchange, load) = try exchange()
    exchange.receiveHead(.noContent, [])

    load.cancel()
    exchange.end(.completed)

    expectEqual(load.text, "success")
    expectEqual(log.entries, ["stop"])
  }

  @Test("A time limit ends the load at once and stops the transport", arguments: [true, false])
  func timedOut(isIdle: Bool) throws {
    let (exchange, load) = try isIdle ? exchange(idle: .seconds(5)) : exchange(timeout: .seconds(5))

    clock.advance(by: .seconds(4))
    if isIdle { exchange.bodySent(1) }
    clock.advance(by: .seconds(isIdle ? 5 : 1))

    expectEqual(load.outcomeIfCompleted?.code, .timedOut)
    expectEqual(log.entries, ["stop"])
    expectEqual(live.count, 1)
    expectEqual(clock.timerCount, 0)
    exchange.end(.stopped)
    expectEqual(live.count, 0)
  }

  @Test("The options of a request replace the limits")
  func options() throws {
    let (exchange, load) = try exchange(timeout: .seconds(5), idle: .seconds(5)) { request in
      request.timeout = .seconds(50)
      request.idleTimeout = .seconds(7)
    }

    clock.advance(by: .seconds(6))
    expectEqual(load.text, "pending")
    clock.advance(by: .seconds(1))

    expectEqual(load.outcomeIfCompleted?.code, .timedOut)
    expectEqual(exchange.isWanted, false)
  }

  @Test("A transport that drops its exchange fails the load, and a reset does not wait for it")
  func dropped() throws {
    let load = try exchange().1

    #expect(load.text.contains("before it was completed"))
    expectEqual(live.count, 0)
  }

  @Test("A request that cannot be sent fails the load and stops the transport")
  func unsendable() throws {
    let (exchange, load) = try exchange()

    exchange.fail(HTTPError(.unreadableBody, "The file is gone. Restore it."))

    expectEqual(load.outcomeIfCompleted?.code, .unreadableBody)
    expectEqual(log.entries, ["stop"])
    exchange.end(.stopped)
    expectEqual(load.outcomeIfCompleted?.code, .unreadableBody)
  }

  @Test("A failed connection is the error of the load, and a transport that stops unasked has failed")
  func failed() throws {
    let (first, lost) = try exchange()
    let (second, stopped) = try exchange()

    first.end(.failed(HTTPError(.connectionLost, "The connection was closed. Load again.")))
    second.end(.stopped)

    expectEqual(lost.outcomeIfCompleted?.code, .connectionLost)
    expectEqual(stopped.outcomeIfCompleted?.code, .transportFailed)
    expectEqual(log.entries, [])
  }

  @Test("Progress is reported until the load ends (H4, nothing after completion)")
  func progress() throws {
    let (exchange, load) = try exchange { [log] request in
      request.body = .data(Data("body".utf8))
      request.progress = { progress in
        log("\(progress.sent.completed) of \(progress.sent.total ?? -1), \(progress.received.completed)")
      }
    }

    exchange.bodySent(2)
    exchange.bodySent(4)
    exchange.receiveHead(.ok, [])
    exchange.receive(Data("1".utf8))
    load.cancel(.forceImmediately)
    exchange.receive(Data("2".utf8))
    exchange.end(.stopped)

    expectEqual(exchange.bodyLength, 4)
    expectEqual(log.entries, ["2 of 4, 0", "4 of 4, 0", "4 of 4, 0", "4 of 4, 1", "stop"])
  }

  @Test("A stream completes the load at its head, and asks for a pause while its reader is behind")
  func stream() async throws {
    let (exchange, load) = try exchange(timeout: .seconds(9), idle: .seconds(5)) { request in
      request.delivery = .stream(bufferLimit: 4, idleReadTimeout: nil)
    }
    exchange.receiveHead(.ok, [("Content-Length", "4")])
    var reader = try await load.value.bodyStream.makeAsyncIterator()

    let room = exchange.receive(Data("ab".utf8))
    clock.advance(by: .seconds(100))
    expectEqual(room?.text, "pending")
    expectEqual(log.entries, [])
    try await expectEqual(reader.next(), Data("ab".utf8))
    expectEqual(room?.text, "success")
    #expect(exchange.receive(Data("c".utf8)) == nil)
    clock.advance(by: .seconds(5))

    await #expect(throws: HTTPError.self) { while try await reader.next() != nil {} }
    expectEqual(log.entries, ["stop"])
    exchange.end(.stopped)
    expectEqual(live.count, 0)
  }

  @Test(
    "A stream that is not read before its delivery is delivered, unless the load was asked", arguments: [false, true])
  func unreadBeforeDelivery(isAsked: Bool) throws {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let clock = clock
    let (exchange, future) = try exchange {
      $0.delivery = .stream(idleReadTimeout: .seconds(1))
      // The head has arrived, and the stream is not delivered yet.
      $0.progress = { _ in
        clock.advance(by: .seconds(1))
        if isAsked { load.value?.cancel() }
      }
    }
    load.value = future

    exchange.receiveHead(.ok, [("Content-Length", "2")])
    expectEqual(log.entries, ["stop"])
    #expect(!exchange.isWanted)
    expectEqual(future.isCompleted, !isAsked)
    exchange.end(.stopped)
    load.value = nil

    #expect(isAsked ? future.text == "cancelled" : try future.outcomeIfCompleted?.get().transfer.text == "bodyNotRead")
    expectEqual(live.count, 0)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A body that cannot be announced or delivered is an error before the load starts")
  func refused() throws {
    let limits = HTTPExchange.Limits(timeout: nil, idleTimeout: nil, maximumBodySize: 100)
    var request = try HTTPRequest("http://localhost/")
    request.method = .post
    request.body = .file(URL(fileURLWithPath: "/nowhere/at/all"))

    let error = #expect(throws: HTTPError.self) { _ = try HTTPExchange(of: request, limits, clock: clock) }

    #expect(error?.code == .unreadableBody && error?.message.contains("http://localhost/") == true)
  }
}
