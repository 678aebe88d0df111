import FutureTree

/// A registry of the loads of one transport that have not ended, for the transport's resets.
///
/// ```swift
/// final class Transport: HTTPLoader {
///   private let live = LiveLoads()
///
///   func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
///     live.track(Future.task { try await exchange(request) })
///   }
///
///   func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }
///   func reset() -> Future<Void> { live.drain() }
/// }
/// ```
///
/// A registry can be used from any thread. It retains each load only until the load has ended.
public final class LiveLoads: Sendable {
  private struct State {
    var drains: [Int: @Sendable () -> Future<Void>] = [:]
    var lastID = 0
  }

  private let state = Locked(State())

  /// Creates an empty registry.
  public init() {}

  /// The number of loads that have not ended, including loads whose callers already have an outcome.
  public var count: Int { state.withLock { $0.drains.count } }

  /// Tracks the work of a load until it ends, and returns a future for the caller of the load.
  ///
  /// If the body is a stream, the load is tracked until its transfer has ended.
  ///
  /// The returned future has the outcome of `work`, and forwards cancellation to it. With `.forceImmediately` only the
  /// returned future completes at once. `work` receives the request without the force and stays tracked until it ends, so
  /// that a reset waits for it. This implements the rules *Confirmed cancellation* and *Refuse, drain, wipe*.
  ///
  /// - Parameter work: A future that completes when the transport has confirmed that nothing of the load is left. Do not
  ///   pass it to callers: a caller could force it to complete.
  /// - Returns: A future derived from `work`.
  /// - Complexity: O(1).
  public func track<Value>(_ work: Future<Value>) -> Future<Value> {
    let forCaller = work.forwarded()
    add(work) { outcome in (outcome as? Outcome<HTTPResponse>)?.pendingTransfer }
    return forCaller
  }

  /// Tracks the work of a load whose caller has a separate future.
  func add(_ work: Future<Void>) {
    add(work) { _ in nil }
  }

  /// - Parameter rest: Returns the work that remains after this outcome. It is tracked as well.
  private func add<Value>(_ work: Future<Value>, rest: @escaping @Sendable (Outcome<Value>) -> Future<Void>?) {
    let id = state.withLock { state in
      state.lastID += 1
      state.drains[state.lastID] = {
        work.cancel(reason: LiveLoads.resetReason)
        return work.onComplete { outcome in
          guard let rest = rest(outcome) else { return .success }
          rest.cancel(reason: LiveLoads.resetReason)
          return .completeUsing(rest.onComplete { _ in .success })
        }
      }
      return state.lastID
    }
    // An observer has no interest, so it does not withhold a request of the caller.
    work.observe { [weak self] outcome in
      if let rest = rest(outcome) { self?.add(rest) }
      self?.state.release { $0.drains.removeValue(forKey: id) }
    }
  }

  static let resetReason = CancellationReason.of(.reset, "the loader was reset")

  /// Cancels all loads, and waits until their work has ended, even if their callers already have an outcome.
  ///
  /// Loads that begin in the meantime are neither cancelled nor awaited. Cancelling the returned future only stops the
  /// wait.
  ///
  /// - Parameter notes: The notes that receive the number of loads.
  /// - Returns: A future that succeeds, regardless of the outcomes of the loads.
  /// - Complexity: O(n) in the number of loads.
  public func drain(_ notes: ResetNotes? = nil) -> Future<Void> {
    let drains = state.withLock { $0.drains.sorted { $0.key < $1.key } }
    notes?.drained(drains.count)
    return Future.all(drains.map { $0.value() }).map { [state] _ in
      // A load that ends on another thread at this moment may not have removed itself yet.
      state.release { state in drains.map { state.drains.removeValue(forKey: $0.key) } }
    }.shielded()
  }
}
