import FutureTree
import FutureTreeNIO
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

private struct Oops: Error {}

@Suite("Event-loop futures") struct EventLoopFutureTests {
  private let loop = EmbeddedEventLoop()

  @Test("A future has the result of its event-loop future")
  func results() throws {
    let (value, error) = (loop.makePromise(of: Int.self), loop.makePromise(of: Int.self))
    let (first, second) = (value.futureResult.future(), error.futureResult.future())
    #expect(!first.isCompleted && !second.isCompleted)

    value.succeed(1)
    error.fail(Oops())

    #expect(try first.outcomeIfCompleted?.get() == 1)
    #expect(throws: Oops.self) { try second.outcomeIfCompleted?.get() }
  }

  @Test("A request runs `cancel` once, and the result decides")
  func cancelled() {
    let promises = (0..<3).map { _ in loop.makePromise(of: Int.self) }
    let calls = Promise<Int>()
    let futures = promises.map { $0.futureResult.future { calls.succeed(1) } }

    for future in futures {
      future.cancel()
      future.cancel()
      #expect(!future.isCompleted)
    }
    promises[0].fail(CancellationError())
    promises[1].succeed(2)
    promises[2].fail(Oops())

    #expect(calls.future.isCompleted)
    #expect(futures.map { $0.outcomeIfCompleted?.ending } == [.cancelled, .succeeded, .failed])
  }

  @Test("The caller says which errors mean a cancellation")
  func meaning() {
    let promise = loop.makePromise(of: Int.self)
    let future = promise.futureResult.future(isCancellation: { $0 is Oops })

    promise.fail(Oops())

    #expect(future.outcomeIfCompleted?.ending == .cancelled)
  }

  @Test("Without `cancel`, a request is stored, and force completes at once")
  func withoutCancel() {
    let promise = loop.makePromise(of: Int.self)
    let (patient, forced) = (promise.futureResult.future(), promise.futureResult.future())

    patient.cancel()
    forced.cancel(.forceImmediately)

    #expect(!patient.isCompleted && forced.outcomeIfCompleted?.ending == .cancelled)
    promise.succeed(1)
    #expect(patient.outcomeIfCompleted?.ending == .succeeded)
  }

  @Test("An event-loop future has the outcome of its future, and is a consumer of it")
  func fromFuture() throws {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let results = promises.map { $0.future.eventLoopFuture(on: loop) }

    #expect(promises[0].future.cancel(.doNotForwardIfOthersWaiting).effect != .delivered)
    promises[0].succeed(1)
    promises[1].fail(Oops())
    promises[2].completeCancelled("not needed")
    loop.run()

    #expect(try results[0].wait() == 1)
    #expect(throws: Oops.self) { try results[1].wait() }
    let cancelled = #expect(throws: FutureCancelled.self) { try results[2].wait() }
    #expect(cancelled?.reason.message == "not needed")
  }
}

@Suite("Event-loop executors and clocks") struct EventLoopExecutorTests {
  @Test("Bodies run on the event loop, in a later iteration")
  func executor() throws {
    let loop = EmbeddedEventLoop()
    let promise = Promise<Int>()
    let doubled = promise.future.map(on: .eventLoop(loop)) { $0 * 2 }

    promise.succeed(1)
    #expect(!doubled.isCompleted)
    loop.run()

    #expect(try doubled.outcomeIfCompleted?.get() == 2)
  }

  @Test("A body runs on the thread of its loop")
  func thread() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let future = Future<Int>.succeeded(1).map(on: .eventLoop(loop)) { _ in loop.inEventLoop }

    #expect(try await future.value)
  }

  @Test("A timer fires at its time, and not when it is cancelled")
  func clock() {
    let loop = EmbeddedEventLoop()
    let clock = EventLoopClock(loop)
    let fired = Promise<Void>()
    let start = clock.now
    _ = clock.schedule(after: .seconds(5)) { fired.succeed() }
    let cancelled = clock.schedule(after: .seconds(1)) { Issue.record("A cancelled timer fired.") }
    _ = clock.schedule(after: .seconds(Int64.max)) { Issue.record("A timer fired early.") }
    let due = Promise<Void>()
    _ = clock.schedule(after: .seconds(-1)) { due.succeed() }
    #expect(!due.future.isCompleted)

    cancelled.cancel()
    loop.advanceTime(by: .seconds(4))
    #expect(due.future.isCompleted && !fired.future.isCompleted)
    loop.advanceTime(by: .seconds(1))

    #expect(fired.future.isCompleted && clock.now - start == .seconds(5))
  }
}
