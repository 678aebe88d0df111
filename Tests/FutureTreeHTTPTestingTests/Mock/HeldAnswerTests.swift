import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@Suite("MockLoader: held answers") struct HeldAnswerTests {
  private let mock = MockLoader()

  private func load() throws -> Future<HTTPResponse> {
    mock.load(try HTTPRequest("http://example.com/"))
  }

  @Test("`loaded` succeeds when the load begins, with its request")
  func loaded() throws {
    let held = mock.hold()
    let loaded = held.loaded
    #expect(held.request == nil && !loaded.isCompleted)

    _ = try load()

    try expectEqual(loaded.outcomeIfCompleted?.get().path, "/")
    expectEqual(held.request?.path, "/")
    #expect(!held.isCompleted)
    held.complete(.cancelled)
    #expect(held.isCompleted)
  }

  @Test("A held answer that continues stays pending after a request until the test completes it")
  func continues() throws {
    let held = mock.hold(whenCancelled: .continue)
    let future = try load()

    let receipt = future.cancel()

    expectEqual(receipt.effect, .delivered)
    #expect(!future.isCompleted)
    #expect(held.complete(.cancelled))
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("A held answer that completes on cancellation ends at once")
  func completes() throws {
    let held = mock.hold(whenCancelled: .complete)
    let future = try load()

    future.cancel(reason: "enough")

    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
    #expect(!held.complete(.cancelled))
    expectEqual(mock.cancelRequests.map(\.reason.message), ["enough"])
  }

  @Test("A reset cancels held and delayed answers, and waits for all that do not ignore requests")
  func reset() throws {
    let clock = ManualClock()
    let held = [HeldAnswer.WhenCancelled.continue, .complete, .ignore].map { mock.hold(whenCancelled: $0) }
    mock.on(.any, .status(.ok).delayed(by: .seconds(1), clock: clock))
    let futures = try (0..<4).map { _ in try load() }

    let reset = mock.reset()

    expectEqual(held.map { $0.cancelRequest != nil }, [true, true, true])
    expectEqual(mock.cancelRequests.count, 4)
    #expect(!reset.isCompleted)
    held[0].complete(.cancelled)
    expectEqual(reset.outcomeIfCompleted?.ending, .succeeded)
    expectEqual(futures.map { $0.outcomeIfCompleted?.ending }, [.cancelled, .cancelled, nil, .cancelled])
    #expect(held[2].answer())
    expectEqual(mock.pendingCount, 0)
  }

  @Test("A reset does not wait for a delayed answer that is now held and ignores requests")
  func resetDelayedIgnoring() throws {
    let clock = ManualClock()
    let stub = mock.on(.any, .hold(whenCancelled: .ignore).delayed(by: .seconds(1), clock: clock))
    let future = try load()
    clock.advance(by: .seconds(1))

    let reset = mock.reset()

    expectEqual(reset.outcomeIfCompleted?.ending, .succeeded)
    #expect(!future.isCompleted)
    stub.held[0].complete(.cancelled)
  }

  @Test("A reset retains stubs, records and answers that were not loaded yet")
  func resetRetains() throws {
    mock.on("/", .status(.ok))
    let held = mock.hold("/later")

    _ = mock.reset()

    expectEqual(mock.unusedAnswers, 2)
    try expectEqual(load().outcomeIfCompleted?.ending, .succeeded)
    #expect(held.cancelRequest == nil)
  }

  @Test("Only force ends an answer that ignores requests, and a drain can time out")
  func drain() throws {
    let clock = ManualClock()
    let held = mock.hold(whenCancelled: .ignore)
    let future = try load()
    future.cancel()
    let drain = future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    expectEqual(drain.outcomeIfCompleted?.ending, .failed)
    #expect(!future.isCompleted)
    future.cancel(.forceImmediately)
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
    #expect(!held.answer())
  }

  @Test("A request that races the end of a delay reaches the held answer", .timeLimit(.minutes(20)))
  func delayAgainstCancel() throws {
    var unasked = 0

    for _ in 0..<600 {
      let (mock, clock) = (MockLoader(), ManualClock())
      let stub = mock.on(.any, .hold().delayed(by: .seconds(1), clock: clock))
      let future = mock.load(try HTTPRequest("http://example.com/"))
      atOnce({ clock.advance(by: .seconds(1)) }, { future.cancel() })
      unasked += stub.held.filter { $0.cancelRequest == nil }.count
    }

    expectEqual(unasked, 0)
  }

  @Test("A held answer reports progress to the request's handler while its load is pending")
  func reports() throws {
    let reported = Locked<[Int]>([])
    var request = try HTTPRequest("http://example.com/")
    request.progress = { progress in reported.withLock { $0.append(progress.received.completed) } }
    let (held, silent) = (mock.hold("/"), mock.hold("/silent"))
    #expect(!held.report())

    _ = mock.load(request)
    _ = mock.load(try HTTPRequest("http://example.com/silent"))
    let reports = [held.report(), held.report(HTTPProgress(received: .init(completed: 7))), silent.report()]
    held.answer()

    #expect(reports == [true, true, false] && !held.report() && reported.value == [0, 7])
    silent.complete(.cancelled)
  }
}
