/// The first observer of a source: two words in the source, instead of an object in its list.
///
/// Most promises are observed once, soon after they were made. The block of memory and the lock of an `Observer` are a quarter of
/// the life of such a promise.
///
/// # Invariants
/// 1. `Source.observer` has the body of the observer, or zeros when the body was taken. The lock of the source guards it, also
///    after the end. The code that takes the body calls it or releases it, once.
/// 2. It is used once at most, while nothing else waits for the source. So this observer comes first in the order of subscription,
///    and a handle means one observer.
/// 3. `FutureState.isObserved` says that it was used. That does not change once the source has ended, so `Trampoline` and
///    `finishEnd` read it without the lock.
/// 4. It is no waiter: it is not in the list, counts as no consumer, and does not retain the source. A source that is freed while
///    it is pending releases the body.
/// 5. The words may have the continuation of an awaiting task instead (`Node+Awaiting`), which counts as a consumer.
///    `FutureState.isAwaited` says so. While the first word is zero, the second says that the task was cancelled before it waited.
/// 6. A handle refers to the source weakly, so that it keeps no outcome alive.
extension Node {
  /// Makes a closure the first observer. Returns false, and does nothing, if this is no source, or another rule of this file
  /// forbids it.
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
  /// The step of a source for its first observer. The value of the source has the type `Value`.
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

  /// Removes the observer, if its body was not taken.
  final func removeObserver() {
    _ = step(self, self, .releaseObserver)
  }
}

/// A closure with its own shape: generic code such as `ValueStorage` would get a bare one wrapped in another.
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
