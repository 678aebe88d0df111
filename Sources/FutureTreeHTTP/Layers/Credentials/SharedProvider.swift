import FutureTree

/// One call of a provider for all who wait for it at the same time.
///
/// Each has a future of its own, which ends at once when it is asked to cancel; the last who leaves by that asks the call.
/// Nothing is kept when a call has ended.
final class SharedProvider<Value: Sendable>: Sendable {
  private struct State {
    /// Counts resets: a call of the time before a reset gives nothing to those who come after it.
    var generation = 0
    var nextID = 0
    var waiting: [Int: Future<Value?>] = [:]

    mutating func add(_ future: Future<Value?>) -> (id: Int, generation: Int) {
      defer { nextID += 1 }
      waiting[nextID] = future
      return (nextID, generation)
    }

    mutating func reset() -> [Future<Value?>] {
      generation += 1
      return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  private let state = Locked(State())
  private let calls = SingleFlight<Int, Value?>()
  private let provide: @Sendable () throws -> Future<Value?>

  init(_ provide: @escaping @Sendable () throws -> Future<Value?>) {
    self.provide = provide
  }

  /// How many wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// What the provider says, or a failure with the code `credentialsUnavailable`.
  func value() -> Future<Value?> {
    let promise = Promise<Value?>()
    let (id, generation) = state.withLock { $0.add(promise.future) }
    promise.future.observe { _ in self.remove(id) }
    let call = calls.load(generation, provide)
    call.observe { outcome in promise.complete(with: SharedProvider.named(outcome)) }
    promise.onRequestCancel { asked in
      call.cancel(asked.options, reason: asked.reason)
      return .complete(.cancelled)
    }
    return promise.future.named(.credentials)
  }

  /// Lets go of those who wait, whose call is asked to cancel. It is not awaited: what comes of it goes to nobody.
  func reset() {
    for waiting in state.withLock({ $0.reset() }) { waiting.cancel(reason: "the chain was reset") }
  }

  private func remove(_ id: Int) {
    _ = state.withLock { $0.waiting.removeValue(forKey: id) }  // Freed outside the lock.
  }

  private static func named(_ outcome: Outcome<Value?>) -> Outcome<Value?> {
    guard case .failure(let error) = outcome else { return outcome }
    return .failure(HTTPError(credentialsUnavailable: error, "provider of the credentials"))
  }
}

extension HTTPError {
  /// The error of loads that wait for credentials which a closure of the app could not provide.
  package init(credentialsUnavailable error: any Error, _ source: String) {
    self.init(
      .credentialsUnavailable, "The \(source) failed (\(type(of: error))). Look at `underlying`, and load again.",
      underlying: error)
  }
}

extension FutureName {
  fileprivate static let credentials = FutureName("credentials")
}
