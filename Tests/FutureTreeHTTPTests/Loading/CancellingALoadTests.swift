import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Each test is a row of the table of the article *Cancelling a load*, in its order.
@Suite("Cancelling a load", .onSockets) struct CancellingALoadTests {
  private let mock = MockLoader()
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("http://example.com/feed")
  }

  private func ending(of future: Future<HTTPResponse>) -> Ending? { future.outcomeIfCompleted?.ending }

  // MARK: - In front of the transport

  @Test("A task that is cancelled before its start loads nothing")
  func beforeTheLoad() {
    let task = mock.task(for: request)

    task.cancel()
    expectEqual(ending(of: task.future), .cancelled)
    task.start()

    #expect(mock.requests.isEmpty)
  }

  @Test("A request that is cancelled in the queue of a layer ends at once")
  func inAQueue() {
    let queue = Queue()
    let api = queue --> mock
    let feed = api.load(request)

    feed.cancel()

    expectEqual(ending(of: feed), .cancelled)
    expectEqual(queue.count, 0)
    queue.passOn()
    #expect(mock.requests.isEmpty)
  }

  @Test("A request that is cancelled during the delay of a layer ends at once")
  func inAPause() {
    let clock = ManualClock()
    let feed = (Pause(clock: clock) --> mock).load(request)

    feed.cancel()

    expectEqual(ending(of: feed), .cancelled)
    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(2))
    #expect(mock.requests.isEmpty)
  }

  @Test(
    "A request that is cancelled while a layer loads a token is not sent",
    arguments: [Ending.succeeded, .failed, .cancelled])
  func behindAnotherLoad(ending: Ending) {
    let token = mock.hold("/token")
    let feed = (SignIn() --> mock).load(request)

    feed.cancel(reason: "enough")
    expectEqual(token.cancelRequest?.reason.message, "enough")
    token.end(ending)

    expectEqual(self.ending(of: feed), ending == .failed ? .failed : .cancelled)
    expectEqual(mock.requests.map(\.path), ["/token"])
  }

  // MARK: - At the transport

  @Test("The transport gets options and reason of a cancellation request")
  func atTheTransport() {
    let held = mock.hold()
    let feed = (Pass() --> Pass() --> mock).load(request)

    feed.cancel(.doNotForwardIfOthersWaiting, reason: "enough")

    expectEqual(held.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(held.cancelRequest?.reason.message, "enough")
    #expect(!feed.isCompleted)
    held.complete(.cancelled)
    expectEqual(ending(of: feed), .cancelled)
  }

  @Test("A load that is cancelled on the wire closes its connection")
  func onTheWire() async throws {
    let server = try Loopback.server()
    server.on("/feed", .stall)
    let feed = (Pass() --> SystemLoader(.patient)).load(try HTTPRequest(server.url("/feed")))
    _ = await server.waitForRequest(to: "/feed").outcome

    feed.cancel()

    await expectEqual(feed.outcome.ending, .cancelled)
    let record = try await server.waitForClose(of: "/feed").value
    expectEqual(record.abandonedPaths, ["/feed"])
  }

  @Test("A load that is cancelled while its body arrives closes its connection")
  func whileTheBodyArrives() async throws {
    let server = try Loopback.server()
    let gate = LoopbackGate()
    server.on("/feed", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .hold(gate)])
    let feed = (Pass() --> SystemLoader(.patient)).load(try HTTPRequest(server.url("/feed")))
    _ = await gate.waitForHolders().outcome

    feed.cancel()

    await expectEqual(feed.outcome.ending, .cancelled)
    let record = try await server.waitForClose(of: "/feed").value
    expectEqual(record.abandonedPaths, ["/feed"])
  }

  @Test("A success that arrives after a cancellation request is kept")
  func whileASuccessIsOnItsWay() {
    let held = mock.hold()
    let feed = mock.load(request)

    feed.cancel()
    held.answer()

    expectEqual(ending(of: feed), .succeeded)
  }

  @Test("A layer's body that has not begun does not begin after a cancellation request")
  func whileALayerWaitsForTheSuccess() {
    let held = mock.hold()
    let parse = Parse()
    let feed = (parse --> mock).load(request)

    feed.cancel()
    held.answer()

    expectEqual(ending(of: feed), .cancelled)
    expectEqual(parse.count.value, 0)
  }

  @Test("A failure after a cancellation request is not retried")
  func whileALayerWouldTryAgain() {
    let held = mock.hold()
    mock.answer()
    let feed = (Retry() --> mock).load(request)

    feed.cancel()
    held.complete(.failure(HTTPError(.connectionLost, "cut")))

    expectEqual(ending(of: feed), .failed)
    expectEqual(mock.requests.count, 1)
  }

  @Test("A forced load ends at once")
  func byForce() {
    let held = mock.hold()
    let feed = (Pass() --> mock).load(request)

    let receipt = feed.cancel(.forceImmediately)

    expectEqual(receipt.effect, .completed)
    expectEqual(ending(of: feed), .cancelled)
    expectEqual(held.cancelRequest?.options, [])
    held.complete(.cancelled)
  }

  @Test("A transport that ignores a cancellation request keeps the load pending")
  func toATransportThatIgnoresIt() {
    let clock = ManualClock()
    let held = mock.hold(whenCancelled: .ignore)
    let feed = mock.load(request)
    let patient = feed.timeout(after: .seconds(5), clock: clock)

    feed.cancel()
    #expect(!feed.isCompleted)
    clock.advance(by: .seconds(5))

    expectEqual(ending(of: patient), .failed)
    #expect(!feed.isCompleted)
    feed.cancel(.forceImmediately)
    expectEqual(ending(of: feed), .cancelled)
    withExtendedLifetime(held) {}
  }

  // MARK: - The requester

  @Test("A request with `.doNotForwardIfOthersWaiting` is withheld while another consumer waits")
  func whileOthersWait() {
    let held = mock.hold()
    let feed = mock.load(request)
    let mine = feed.map { $0.status }
    let theirs = feed.map { $0.headers }

    expectEqual(mine.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    #expect(mine.isCompleted && held.cancelRequest == nil)
    theirs.cancel(.doNotForwardIfOthersWaiting)

    #expect(held.cancelRequest != nil)
    held.complete(.cancelled)
  }

  @Test("Cancelling the awaiting task cancels the load")
  func byTheAwaitingTask() async {
    let held = mock.hold()
    let feed = mock.load(request)
    let task = Task { try await feed.value }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(held.cancelRequest != nil)
    #expect(!feed.isCompleted)
    held.complete(.cancelled)
  }

  @Test("A second cancellation request is a duplicate")
  func twice() {
    let held = mock.hold()
    let feed = mock.load(request)

    let effects = (0..<2).map { _ in feed.cancel().effect }

    expectEqual(effects, [.delivered, .duplicate])
    expectEqual(mock.cancelRequests.count, 1)
    held.complete(.cancelled)
  }

  // MARK: - After completion

  @Test("A request between the completion and its callbacks is too late")
  func betweenCompletionAndCallbacks() {
    let executor = ManualExecutor()
    let endings = Locked<[Ending]>([])
    mock.answer()
    let feed = mock.load(request)
    feed.observe(on: executor.executor) { outcome in endings.withLock { $0.append(outcome.ending) } }
    feed.onComplete(on: executor.executor) { outcome in
      endings.withLock { $0.append(outcome.ending) }
      return Completion(outcome)
    }
    #expect(endings.value.isEmpty)

    let receipt = feed.cancel()
    executor.runAll()

    expectEqual(receipt.effect, .tooLate(.succeeded))
    expectEqual(endings.value, [.succeeded, .succeeded])
  }

  @Test("A queued body does not run once its future is cancelled")
  func betweenCompletionAndABody() {
    let executor = ManualExecutor()
    mock.answer()
    let feed = mock.load(request)
    let title = feed.map(on: executor.executor) { _ -> String in
      Issue.record("The body has run.")
      return ""
    }

    title.cancel()
    expectEqual(title.outcomeIfCompleted?.ending, .cancelled)
    executor.runAll()

    expectEqual(ending(of: feed), .succeeded)
  }

  @Test("A request after the callbacks is too late")
  func afterTheCallbacks() {
    mock.answer()
    let endings = Locked<[Ending]>([])
    let task = mock.load(request) { outcome in endings.withLock { $0.append(outcome.ending) } }

    let receipt = task.cancel()

    expectEqual(receipt.effect, .tooLate(.succeeded))
    expectEqual(endings.value, [.succeeded])
    #expect(task.future.cancelRequest == nil)
  }

  // MARK: - Handlers

  @Test("A request before a handler is installed is stored and delivered")
  func beforeTheHandler() {
    let promise = Promise<HTTPResponse>()
    let reasons = Locked<[String]>([])

    expectEqual(promise.future.cancel(reason: "early").effect, .stored)
    promise.onRequestCancel { request in
      reasons.withLock { $0.append(request.reason.message) }
      return .complete(.cancelled)
    }

    expectEqual(reasons.value, ["early"])
    expectEqual(ending(of: promise.future), .cancelled)
  }

  @Test("A handler that is installed after completion is released and never runs")
  func handlerAfterTheEnd() {
    let promise = Promise<HTTPResponse>()
    promise.fail(HTTPError(.timedOut, "too late"))
    promise.future.cancel()
    weak var captured: ManualClock?

    do {
      let clock = ManualClock()
      captured = clock
      promise.onRequestCancel { _ in
        Issue.record("The handler has run at \(clock.now).")
        return .continue
      }
    }

    #expect(captured == nil)
  }

  @Test("Layers end from the transport outward")
  func fromTheTransportOutwards() {
    let log = Recorder()
    let outermost = Locked<Future<HTTPResponse>?>(nil)
    let wire = Wire { log.append("the transport is asked, all know: \(outermost.value?.cancelRequest != nil)") }
    let feed = (Slot(name: "outer", log: log) --> Slot(name: "inner", log: log) --> wire).load(request)
    outermost.value = feed

    feed.cancel()

    expectEqual(log.lines, ["the transport is asked, all know: true", "inner is free", "outer is free"])
    expectEqual(ending(of: feed), .cancelled)
    outermost.value = nil
  }
}

extension CancellingALoadTests {
  @Test("The article has a row for each test of this file")
  func article() throws {
    let tests = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8).matches(of: /@Test\(/).count - 1

    #expect(tests > 15)
    try expectEqual(Guide("CancellingALoad", of: "FutureTreeHTTP").page().rows.count, tests)
  }
}

extension HeldAnswer {
  fileprivate func end(_ ending: Ending) {
    switch ending {
    case .succeeded: answer()
    case .failed: complete(.failure(HTTPError(.connectionLost, "cut")))
    case .cancelled: complete(.cancelled)
    }
  }
}
