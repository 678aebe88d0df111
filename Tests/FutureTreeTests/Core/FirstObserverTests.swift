import TestSupport
import Testing

@testable import FutureTree

/// The first observer of a source has no separate object: see `FirstObserver.swift`.
@Suite("Operators: first observer of a promise")
struct FirstObserverTests {
  @Test("Observers and consumers are called in the order of subscription")
  func order() {
    let log = Recorder()
    let (observed, mapped) = (Promise<Int>(), Promise<Int>())
    observed.future.observe { _ in log("first") }
    observed.future.map { _ in log("map") }
    observed.future.observe { _ in log("second") }
    mapped.future.map { _ in log("map") }
    mapped.future.observe { _ in log("first") }

    observed.succeed(1)
    mapped.succeed(1)

    expectEqual(log.entries, ["first", "map", "second", "map", "first"])
  }

  @Test("A removed observer is not called, and its handle removes no other observer")
  func removed() {
    let log = Recorder()
    let promise = Promise<Int>()
    let first = promise.future.observe { _ in log("first") }
    first.remove()
    promise.future.observe { _ in log("second") }
    first.remove()

    promise.succeed(1)

    expectEqual(log.entries, ["second"])
  }

  @Test("The observer receives the outcome of the future onto which its promise is sealed")
  func sealed() {
    let log = Recorder()
    let (promise, inner) = (Promise<Int>(), Promise<Int>())
    promise.future.observe { log($0.state) }

    promise.complete(.completeUsing(inner.future))
    expectEqual(log.entries, [])
    inner.succeed(2)

    expectEqual(log.entries, ["success(2)"])
  }

  @Test("An observer can be removed or added after its promise was sealed")
  func removedAfterSeal() {
    let log = Recorder()
    let (promise, inner) = (Promise<Int>(), Promise<Int>())
    let first = promise.future.observe { _ in log("first") }
    promise.complete(.completeUsing(inner.future))
    first.remove()
    let (late, other) = (Promise<Int>(), Promise<Int>())
    late.complete(.completeUsing(other.future))
    late.future.observe { log($0.state) }

    inner.succeed(2)
    other.succeed(3)

    expectEqual(log.entries, ["success(3)"])
  }

  @Test("An observer can observe its future again and remove itself during its call")
  func reentry() {
    let log = Recorder()
    let (promise, holder) = (Promise<Int>(), Locked<FutureObservation?>(nil))
    let future = promise.future
    holder.value = future.observe { _ in
      holder.value?.remove()
      future.observe { log("inner \($0.state)") }
      log("outer")
    }

    promise.succeed(1)

    expectEqual(log.entries, ["outer", "inner success(1)"])
  }

  @Test("The observer is called once if its promise is dropped or its future is forced")
  func dropped() {
    let (log, promise) = (Recorder(), Promise<Int>())
    promise.future.observe { log($0.state) }
    promise.future.cancel(.forceImmediately)
    promise.succeed(1)
    expectEqual(log.entries.count, 1)

    let error = Locked<(any Error)?>(nil)
    do {
      let promise = Promise<Int>()
      promise.future.observe { if case .failure(let broken) = $0 { error.value = broken } }
    }

    #expect(error.value is BrokenPromise)
  }

  @Test("The observer is released after its call, its removal, or the release of a pending source")
  func released() {
    let census = Census()
    func observed(_ future: Future<Int>) -> FutureObservation {
      future.observe { [probe = census.probe()] _ in probe.touch() }
    }
    let (called, removed) = (Promise<Int>(), Promise<Int>())
    _ = observed(called.future)
    let observation = observed(removed.future)
    do { _ = observed(Future<Int>(node: Future<Int>.source())) }
    expectEqual(census.alive, 2)

    called.succeed(1)
    observation.remove()

    expectEqual(census.alive, 0)
    removed.succeed(1)
  }

  @Test("The handle retains no outcome and can outlive the future")
  func handle() {
    let census = Census()
    var handles: [FutureObservation] = []
    do {
      let (promise, pending) = (Promise<Probe>(), Future<Int>(node: Future<Int>.source()))
      handles.append(promise.future.observe { _ in })
      handles.append(pending.observe { [probe = census.probe()] _ in probe.touch() })
      promise.succeed(census.probe())
    }

    expectEqual(census.alive, 0)
    for handle in handles { handle.remove() }
  }

  @Test("The tree shows no waiter for the observer")
  func picture() {
    let promise = Promise<Int>()
    promise.future.observe { _ in }

    let entries = promise.future.tree().entries
    promise.succeed(1)

    expectEqual(entries.count, 1)
    #expect(entries[0].waiters == [] && entries[0].consumers == 0)
  }
}
