import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

// MARK: - The reader leaves

extension ServerSentEventsCancellationTests {
  @Test("Leaving the loop closes the connection, and ends the sequence as cancelled")
  func leaves() async throws {
    let script = ScriptedStreams(.events("data: a\n\ndata: b\n\n", then: .open))
    let events = feed(script)

    for try await _ in events { break }

    expectEqual(script.stopCount, 1)
    expectEqual(events.transfer.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(events.transfer.text, "pending")
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))
    expectEqual(events.transfer.text, "cancelled")
  }

  @Test("The sequence also ends without a reader if its transfer has another consumer")
  func otherConsumer() async throws {
    let script = ScriptedStreams(.events("data: a\n\n", then: .open))
    let events = feed(script)
    let other = events.transfer.map { "ended" }

    for try await _ in events { break }
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))

    expectEqual(script.stopCount, 1)
    expectEqual(other.text, "cancelled")
    #expect(other.cancelRequest == nil)
  }

  @Test("A sequence that is dropped unread ends")
  func dropped() {
    let transfer = feed(ScriptedStreams()).transfer

    expectEqual(transfer.text, "cancelled")
    expectEqual(transfer.cancelRequest?.reason.message, "the reader left the events")
  }

  @Test("A cancelled task ends the load at once")
  func taskCancelledInLoad() async {
    let script = ScriptedStreams()
    let events = feed(script)
    let data = read(events)
    await script.waitForLoad(1)

    data.cancel()

    await expectEqual(data.value, ["CancellationError"])
    expectEqual(script.lastLoad?.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(events.transfer.text, "pending")
    script.lastLoad?.completeCancelled()
    expectEqual(events.transfer.text, "cancelled")
  }

  @Test("A cancelled task ends the stream at once")
  func taskCancelledInStream() async {
    let script = ScriptedStreams(.events("", then: .open))
    let events = feed(script)
    let data = read(events)
    await script.waitForReader()

    data.cancel()

    await expectEqual(data.value, ["CancellationError"])
    expectEqual(script.stopCount, 1)
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))
    expectEqual(events.transfer.text, "cancelled")
  }

  @Test("A cancelled task ends the pause at once")
  func taskCancelledInPause() async {
    let script = ScriptedStreams(.error(.cannotConnect))
    let events = feed(script)
    let data = read(events)
    while clock.timerCount == 0 { await Task.yield() }

    data.cancel()

    await expectEqual(data.value, ["CancellationError"])
    expectEqual(events.transfer.text, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A task that is cancelled before it reads connects nothing, and gets no event")
  func cancelledBefore() async throws {
    let script = ScriptedStreams(.events("data: a\n\ndata: b\n\n", then: .open))
    let task = Task {
      var events = feed(script).makeAsyncIterator()
      let first = try await events.next()
      withUnsafeCurrentTask { $0?.cancel() }
      for _ in 1...2 { await #expect(throws: CancellationError.self) { try await events.next() } }
      _ = await feed(script).data()
      return first
    }

    try await expectEqual(task.value?.data, "a")
    expectEqual(script.requests.count, 1)
    expectEqual(script.stopCount, 1)
  }
}
