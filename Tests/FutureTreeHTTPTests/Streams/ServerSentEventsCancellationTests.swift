import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Cancelling server-sent events") struct ServerSentEventsCancellationTests {
  let clock = ManualClock()

  func feed(_ script: ScriptedStreams) -> ServerSentEvents {
    script.events("http://example.com/feed", clock: clock)
  }

  /// Reads events in a task until `next` throws.
  func read(_ events: ServerSentEvents) -> Task<[String], Never> {
    Task { await events.data() }
  }

  @Test("Cancelling before the first connection completes at once, and nothing connects")
  func beforeFirst() async throws {
    let script = ScriptedStreams()
    let events = feed(script)

    expectEqual(events.transfer.cancel(reason: "Stop").effect, .delivered)

    expectEqual(events.transfer.text, "cancelled")
    var iterator = events.makeAsyncIterator()
    for _ in 1...2 {
      let error = await #expect(throws: FutureCancelled.self) { try await iterator.next() }
      expectEqual(error?.reason.message, "Stop")
    }
    #expect(script.requests.isEmpty)
  }

  @Test("Cancelling during a load cancels the load, and completes when it has ended")
  func duringLoad() async throws {
    let script = ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    await script.waitForLoad(1)

    events.transfer.cancel(reason: "Stop")

    expectEqual(script.lastLoad?.cancelRequest?.reason.message, "Stop")
    expectEqual(events.transfer.text, "pending")
    script.lastLoad?.completeCancelled("Stop")
    expectEqual(events.transfer.text, "cancelled")
    await expectEqual(data.value, ["FutureCancelled"])
    expectEqual(script.requests.count, 1)
  }

  @Test("A load that succeeds before it reacts has its stream closed")
  func lateStream() async throws {
    let script = ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    await script.waitForLoad(1)
    events.transfer.cancel()

    script.lastLoad?.succeed(script.stream("data: a\n\n", for: script.requests[0]))

    await expectEqual(data.value, ["FutureCancelled"])
    expectEqual(script.stopCount, 1)
    expectEqual(events.transfer.text, "pending")
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))
    expectEqual(events.transfer.text, "cancelled")
  }

  @Test("Cancelling while the loader is called reaches the load")
  func insideLoad() async throws {
    let script = ScriptedStreams()
    let events = feed(script)
    let transfer = events.transfer
    script.onLoad.value = { transfer.cancel(reason: "Stop") }

    await expectEqual(events.data(), ["FutureCancelled"])

    expectEqual(script.lastLoad?.cancelRequest?.reason.message, "Stop")
    expectEqual(transfer.text, "pending")
    script.lastLoad?.completeCancelled()
    expectEqual(transfer.text, "cancelled")
  }

  @Test("Cancelling at any time ends the sequence once", arguments: [false, true])
  func anyTime(cancelsTask: Bool) async {
    for turns in 0..<200 {
      let script = ScriptedStreams(
        .error(.cannotConnect), .events("data: a\n\n"), .events("data: b\n\n", then: .open), confirms: true)
      let events = script.feed()
      let transfer = events.transfer
      let data = Task { await events.data() }
      for _ in 0..<turns / 4 { await Task.yield() }
      if cancelsTask { data.cancel() } else { transfer.cancel() }

      await expectEqual(data.value.last, cancelsTask ? "CancellationError" : "FutureCancelled")
      if case .cancelled = await transfer.outcome {} else { Issue.record("The transfer was not cancelled.") }
      #expect(script.writers.allSatisfy { $0.transfer.isCompleted })
    }
  }

  @Test("Cancelling during a stream closes it, and completes when the transport confirms")
  func duringStream() async throws {
    let script = ScriptedStreams(.events("data: a\n\n", then: .open))
    let events = feed(script)
    let data = read(events)
    await script.waitForReader()

    events.transfer.cancel(reason: "Stop")

    expectEqual(script.stopCount, 1)
    expectEqual(events.transfer.text, "pending")
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))
    expectEqual(events.transfer.text, "cancelled")
    await expectEqual(data.value, ["a", "FutureCancelled"])
    expectEqual(script.requests.count, 1)
  }

  @Test("A cancellation discards events that the reader has not received")
  func discards() async throws {
    let script = ScriptedStreams(.events("data: a\n\ndata: b\n\n", then: .open))
    let events = feed(script)
    var iterator = events.makeAsyncIterator()
    try await expectEqual(iterator.next()?.data, "a")

    events.transfer.cancel()

    await #expect(throws: FutureCancelled.self) { try await iterator.next() }
    expectEqual(script.stopCount, 1)
  }

  @Test("The last reference to a response is released outside of every lock", arguments: [false, true])
  func releases(isCancelled: Bool) async throws {
    let script = ScriptedStreams(.events("data: a\n\n", then: .open))
    let events = script.feed(.never)
    var iterator = events.makeAsyncIterator()
    try await expectEqual(iterator.next()?.data, "a")
    if isCancelled { events.transfer.cancel() }
    script.writers[0].finish()
    script.forget()

    if isCancelled {
      await #expect(throws: FutureCancelled.self) { try await iterator.next() }
    } else {
      #expect(try await iterator.next() == nil)
    }
  }

  @Test("Cancelling during a pause completes at once, and cancels the timer")
  func duringPause() async throws {
    let script = ScriptedStreams(.error(.cannotConnect))
    let events = feed(script)
    let data = read(events)
    while clock.timerCount == 0 { await Task.yield() }

    events.transfer.cancel()

    expectEqual(events.transfer.text, "cancelled")
    expectEqual(clock.timerCount, 0)
    await expectEqual(data.value, ["FutureCancelled"])
    expectEqual(script.requests.count, 1)
  }

  @Test("Force completes at once, and ends the wait of the reader", arguments: [false, true])
  func forced(hasStream: Bool) async throws {
    let script = hasStream ? ScriptedStreams(.events("", then: .open)) : ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    if hasStream { await script.waitForReader() } else { await script.waitForLoad(1) }

    events.transfer.cancel(.forceImmediately)

    expectEqual(events.transfer.text, "cancelled")
    await expectEqual(data.value, ["FutureCancelled"])
  }

  @Test("The reader is a consumer of the transfer")
  func readerIsConsumer() async throws {
    let script = ScriptedStreams(.events("data: a\n\n", then: .open))
    let events = feed(script)
    expectEqual(events.transfer.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))

    var iterator = Optional(events.makeAsyncIterator())
    try await expectEqual(iterator?.next()?.data, "a")
    expectEqual(script.stopCount, 0)

    iterator = nil  // Law 3 (others waiting): the withheld request is delivered.
    expectEqual(script.stopCount, 1)
  }

  @Test("A request that is limited to the transfer ends the connection as well")
  func notForwarded() async throws {
    let script = ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    await script.waitForLoad(1)

    events.transfer.cancel(.doNotForwardRequest)

    #expect(script.lastLoad?.cancelRequest != nil)
    script.lastLoad?.completeCancelled()
    await expectEqual(data.value, ["FutureCancelled"])
  }
}

// MARK: - The chain

extension ServerSentEventsCancellationTests {
  @Test("A reset of the chain ends the sequence as cancelled, and nothing reconnects")
  func reset() async throws {
    let script = ScriptedStreams(.events("data: a\n\n", then: .open))
    let api = Autocancel() --> script
    let events = api.events("http://example.com/feed", clock: clock)
    let data = read(events)
    await script.waitForReader()

    let reset = api.reset()
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))

    await expectEqual(data.value, ["a", "FutureCancelled"])
    expectEqual(events.transfer.text, "cancelled")
    expectEqual(reset.text, "success")
    expectEqual(script.requests.count, 1)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A load that a reset cancelled, and one that a reset refuses, end the sequence")
  func refused() async throws {
    let script = ScriptedStreams(.cancelled, .error(.resetInProgress))

    await expectEqual(feed(script).data(), ["FutureCancelled"])
    await expectEqual(feed(script).data(), ["error: resetInProgress"])
  }

  @Test("A load that other consumers share continues when the reader leaves")
  func sharedLoad() async throws {
    let script = ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    await script.waitForLoad(1)
    let other = script.lastLoad?.future.map { $0.status }

    data.cancel()

    await expectEqual(data.value, ["CancellationError"])
    #expect(script.lastLoad?.cancelRequest == nil)
    expectEqual(other?.isCompleted, false)
    expectEqual(events.transfer.text, "cancelled")
  }
}
