import FutureTree

/// One call of a provider, shared by all loads that wait at the same time.
///
/// Each load has its own future, which completes immediately when it is cancelled. When the last of these futures is
/// cancelled, the call is asked to cancel. The result of a call is not stored.
final class SharedProvider<Value: Sendable>: Sendable {
  private struct State {
    /// The number of resets. The result of a call before a reset is not delivered to loads after it.
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

  /// The number of waiting loads.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Returns a future of the provider's result. It fails with the code `credentialsUnavailable` if the provider fails.
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

  /// Cancels the waiting loads, so that the call is asked to cancel. The call is not awaited, and its result is ignored.
  ///
  /// - Returns: The number of the loads.
  func cancelAll() -> Int {
    let all = state.withLock { $0.reset() }
    for waiting in all { waiting.cancel(reason: .chainReset) }
    return all.count
  }

  private func remove(_ id: Int) {
    _ = state.withLock { $0.waiting.removeValue(forKey: id) }  // Released outside the lock.
  }

  private static func named(_ outcome: Outcome<Value?>) -> Outcome<Value?> {
    guard case .failure(let error) = outcome else { return outcome }
    return .failure(HTTPError(credentialsUnavailable: error, "provider of the credentials"))
  }
}

extension HTTPError {
  /// Creates the error of loads that wait for credentials that a closure of the app failed to provide.
  package init(credentialsUnavailable error: any Error, _ source: String) {
    self.init(
      .credentialsUnavailable, "The \(source) failed (\(type(of: error))). See `underlying`.",
      response: (error as? HTTPError)?.response, underlying: error)
  }
}

extension FutureName {
  fileprivate static let credentials = FutureName("credentials", activity: "waiting for credentials")
}
