import FutureTree
import Synchronization
import Testing

/// Two or three things at once to one future, thousands of times, on real threads. The thread sanitizer runs these too.
@Suite("Races", .serialized) struct RaceTests {
  private let rounds = 3_000

  /// Counts what must happen exactly once a round.
  private final class Count: Sendable {
    private let count = Atomic<Int>(0)
    func add() { count.add(1, ordering: .sequentiallyConsistent) }
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
  }

  @Test("complete against complete: one wins, and each consumer hears once")
  func completeAgainstComplete() {
    let wins = Count()
    let told = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      promise.future.map { $0 }.observe { _ in told.add() }
      return [{ if promise.succeed(1) { wins.add() } }, { if promise.completeCancelled() { wins.add() } }]
    }

    #expect(wins.value == rounds)
    #expect(told.value == rounds)
  }

  @Test("complete against cancel from the tail of a chain")
  func completeAgainstCancel() {
    let told = Count()
    let handled = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in
        handled.add()
        return .complete(.cancelled)
      }
      let tail = promise.future.map { $0 }.onSuccess { Future.succeeded($0) }.onComplete { _ in }
      tail.observe { _ in told.add() }
      return [{ promise.succeed(1) }, { tail.cancel() }]
    }

    #expect(told.value == rounds)
    #expect(handled.value <= rounds)
  }

  @Test("complete against attaching a consumer: the consumer hears")
  func completeAgainstAttach() {
    let told = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      return [{ promise.succeed(1) }, { promise.future.map { $0 }.observe { _ in told.add() } }]
    }

    #expect(told.value == rounds)
  }

  @Test("cancel against installing a handler: the handler is called once")
  func cancelAgainstInstall() {
    let handled = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      return [
        { promise.future.cancel() },
        {
          promise.onRequestCancel { request in
            handled.add()
            return .complete(.cancelled)
          }
        },
      ]
    }

    #expect(handled.value == rounds)
  }

  @Test("two tokens ask politely at once: the last to leave delivers, once")
  func tokens() {
    let handled = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in
        handled.add()
        return .continue
      }
      let (first, second) = (promise.future.map { $0 }.cancelToken(), promise.future.map { $0 }.cancelToken())
      return [
        { withExtendedLifetime(promise) { _ = first.cancel(.doNotForwardIfOthersWaiting) } },
        { second.cancel(.doNotForwardIfOthersWaiting) },
      ]
    } check: { round in
      #expect(handled.value == round + 1)
    }
  }

  @Test("a token is dropped against one that asks politely: what was withheld is delivered")
  func tokenDropped() {
    let handled = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in
        handled.add()
        return .continue
      }
      let asks = promise.future.cancelToken()
      let dropped = Droppable(promise.future.map { $0 }.cancelToken())
      return [
        { withExtendedLifetime(promise) { _ = asks.cancel(.doNotForwardIfOthersWaiting) } }, { dropped.drop() },
      ]
    }

    #expect(handled.value == rounds)
  }

  /// Something that one of the threads lets go of.
  private final class Droppable<Object: Sendable>: Sendable {
    private let object: Locked<Object?>
    init(_ object: Object) { self.object = Locked(object) }
    func drop() {
      let object = object.withLock { $0.take() }
      _ = object
    }
  }

  @Test("an inner future is linked against cancel: the request reaches it")
  func linkAgainstCancel() {
    let handled = Count()

    Race.run(rounds: rounds) { _ in
      let outer = Promise<Int>()
      let inner = Promise<Int>()
      inner.onRequestCancel { _ in
        handled.add()
        return .complete(.cancelled)
      }
      let tail = outer.future.onComplete { _ in inner.future }.map { $0 }
      return [{ outer.succeed(1) }, { withExtendedLifetime(inner) { _ = tail.cancel() } }]
    }

    #expect(handled.value == rounds)
  }

  @Test("an inner future is completed while it is linked: the outer one ends as it did")
  func linkAgainstInnerCompletion() {
    let told = Count()

    Race.run(rounds: rounds) { _ in
      let outer = Promise<Int>()
      let inner = Promise<Int>()
      outer.future.flatMap { _ in inner.future }.observe { if $0 == .success(2) { told.add() } }
      return [{ outer.succeed(1) }, { inner.succeed(2) }]
    }

    #expect(told.value == rounds)
  }

  @Test("a promise is dropped against attach: nobody waits for ever")
  func dropAgainstAttach() {
    let told = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      let future = promise.future
      let dropped = Droppable(promise)
      return [{ dropped.drop() }, { future.onComplete { _ in told.add() } }]
    }

    #expect(told.value == rounds)
  }

  @Test("the inputs of a join complete at once against a cancel of the join")
  func joins() {
    let told = Count()

    Race.run(rounds: rounds, threads: 3) { _ in
      let promises = [Promise<Int>(), Promise<Int>()]
      let all = Future.all(promises.map(\.future))
      all.observe { _ in told.add() }
      return [
        { promises[0].succeed(1) }, { promises[1].fail(CompletedWithItself()) },
        { all.cancel(.forceImmediately) },
      ]
    }

    #expect(told.value == rounds)
  }

  @Test("interest is withdrawn and renewed at once: the source knows what is true in the end")
  func interest() {
    let withheld = Count()

    Race.run(rounds: rounds) { _ in
      let promise = Promise<Int>()
      let middle = promise.future.map { $0 }
      let dropped = Droppable(middle.cancelToken())
      current.withLock { $0 = promise }
      return [{ dropped.drop() }, { kept.withLock { $0 = middle.cancelToken() } }]
    } check: { _ in
      // `middle` is wanted by the token that is kept, so the source is.
      let receipt = current.withLock { $0 }?.future.cancel(.doNotForwardIfOthersWaiting)
      if receipt?.effect == .withheld(by: 1) { withheld.add() }
    }

    #expect(withheld.value == rounds)
  }
}

private let current = Locked<Promise<Int>?>(nil)
private let kept = Locked<CancelToken?>(nil)
