/// The first observer of a source, stored in two words of the source instead of an entry in its list.
///
/// Most promises are observed once, soon after they are made. For such a promise, an `Observer` with its heap block and its
/// lock would be a quarter of the cost.
///
/// # Invariants
/// 1. `Source.observer` holds the body of the observer. It holds zeros before the body is stored and after it is taken. The
///    lock of the source guards it, even after the source has ended. The thread that takes the body calls or releases it, once.
/// 2. The storage is used at most once, and only while no waiter is in the list. Therefore this observer is the first in the
///    order of subscription, and a handle identifies one observer.
/// 3. `FutureState.isObserved` is true once the storage was used. It does not change after the source has ended. Therefore,
///    `Trampoline` and `finishEnd` read it without the lock.
/// 4. The observer is not a waiter: it is not in the list, is not a consumer, and does not retain the source. A source that is
///    deallocated while it is pending releases the body.
/// 5. The storage may hold the continuation of an awaiting task instead (`Node+Awaiting`). That task is a consumer, and
///    `FutureState.isAwaited` is true. While the first word is 0, a 1 in the second word means that the task was cancelled before
///    it waited.
/// 6. A handle has a weak reference to the source, so it keeps no outcome alive.
extension Node {
  /// Stores a closure as the first observer. Returns false, and does nothing, unless this future is a pending source with
  /// unused storage, no waiter and no monitor.
  @inlinable @inline(__always)
  final func observeFirst<Value: Sendable>(_ body: @escaping @Sendable (Outcome<Value>) -> Void) -> Bool {
    var words = ValueStorage()
    words.initialize(to: ObserverBody(call: body), as: ObserverBody<Value>.self)
    if keepObserver(words) { return true }
    words.destroy(as: ObserverBody<Value>.self)
    return false
  }

  @usableFromInline final func keepObserver(_ body: ValueStorage) -> Bool {
    guard state.createdBy.isSource else { return false }
    return lock.withLock {
      guard state.isPending, waiters.isEmpty, state.observesFirst() else { return false }
      unsafeDowncast(self, to: Source.self).observer = body
      return true
    }
  }
}

extension Source {
  /// Takes the first observer, and calls it if the action is `.callObserver`. `Value` is the type of the source's value.
  @inlinable @inline(__always)
  final func performObserver<Value: Sendable>(_ action: Action, as type: Value.Type) {
    guard let body = takeObserver()?.take(as: ObserverBody<Value>.self) else { return }
    if action == .callObserver { body.call(outcome(as: type)) }
  }

  @usableFromInline final func takeObserver() -> ValueStorage? {
    lock.withLock {
      guard observer.words.0 != 0 else { return nil }
      defer { observer = ValueStorage() }
      return observer
    }
  }

  /// Removes the observer, unless its body was already taken.
  final func removeObserver() {
    _ = step(self, self, .releaseObserver)
  }
}

/// A closure inside a struct. A bare closure would reach generic code, such as `ValueStorage`, wrapped in a second closure.
@usableFromInline
struct ObserverBody<Value: Sendable>: Sendable {
  @usableFromInline let call: @Sendable (Outcome<Value>) -> Void

  @inlinable init(call: @escaping @Sendable (Outcome<Value>) -> Void) {
    self.call = call
  }
}

/// The handle of a first observer.
final class FirstObservation: @unchecked Sendable {  // Because: `source` is written only here and by the runtime.
  private(set) weak var source: Source?

  init(of source: Source) {
    self.source = source
  }
}
