import FutureTree

/// A layer that refuses loads while the chain after it is being reset, and joins overlapping resets. Put it first in the
/// chain.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> SystemLoader()
/// api.reset()
/// api.load(request)  // Fails with `HTTPError.Code.resetInProgress`.
/// ```
///
/// **Reset.** Loads fail from the moment a reset is requested until it has completed. The reset has the following
/// steps:
///
/// 1. It waits until every earlier load has reached the next loader, so that no load reaches a loader that has been
///    reset.
/// 2. It resets the next loader.
/// 3. It waits until every earlier load has completed, and so has the transfer of its body.
///
/// The chain is usable again afterward, even if the reset failed. A reset that is requested in the meantime joins the
/// running one. A reset cannot be cancelled: cancelling its future ends only the wait.
///
/// Loads of the undos of a scope for which the reset waits are not refused. See ``HTTPLoader/scope(_:whenEnded:undoTimeout:clock:)``.
///
/// The layer cancels no loads. Without an `Autocancel` after it, a reset waits until the loads complete by themselves,
/// except those that the transport stops.
///
/// **Cancellation.** The layer holds no requests: a cancellation request is forwarded to the loader that holds the
/// request.
///
/// **In two chains.** While one chain is reset, the loads of both are refused, and the reset waits for the loads of both.
/// Each chain is reset only on request. When one chain is reset, its layers may reset the other.
public final class ResetGuard: HTTPLayer {
  private struct Run {
    let next: any HTTPLoader
    let promise = Promise<Void>()
    var hasBegun = false
    var outcome: Outcome<Void>?
  }

  private struct State {
    var gate = ResetGate()
    /// The number of loads that were refused so far.
    var refused = 0
    /// The resets of the gate, by their numbers.
    var runs: [Int: Run] = [:]

    /// Returns the resets that begin now.
    mutating func begin() -> [(number: Int, next: any HTTPLoader)] {
      runs.filter { !$0.value.hasBegun }.sorted { $0.key < $1.key }.map { number, run in
        runs[number]!.hasBegun = true
        return (number, run.next)
      }
    }

    /// Removes and returns the resets that are over.
    mutating func take(_ numbers: [Int]) -> [Run] {
      numbers.compactMap { runs.removeValue(forKey: $0) }
    }
  }

  private let state = Locked(State())

  /// Creates an open guard.
  public init() {}

  /// Forwards the request, unless the chain is being reset.
  ///
  /// - Returns: A future with the outcome of `next`, or a failure with the code `resetInProgress`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard begins() else {
      let error = HTTPError(
        .resetInProgress, "The load was refused. The chain is being reset. Load again after the reset.")
      return .failed(error).named(.resetGuard)
    }
    let future = next.load(request)
    begin(state.withLock { $0.gate.loadEntered() ? $0.begin() : [] })
    // Closures that capture one object need no allocation.
    future.observe { outcome in
      guard let transfer = outcome.pendingTransfer else { return self.loadEnded() }
      transfer.observe { _ in self.loadEnded() }
    }
    // A separate future: if the caller cancels or forces it, the tracked future does not end.
    return future.forwarded().named(.resetGuard)
  }

  /// Refuses loads, resets `next`, and waits for earlier loads.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let (notes, refusedBefore) = (ResetNotes.current, state.withLock { $0.refused })
    let (promise, beginning) = state.withLock { state -> (Promise<Void>, [(number: Int, next: any HTTPLoader)]) in
      switch state.gate.resetAsked(of: LoaderObject.representedIdentity(of: next)) {
      case .joins(let number):
        return (state.runs[number]!.promise, [])
      case .isNew(let number, let beginsNow):
        let run = Run(next: next)
        state.runs[number] = run
        return (run.promise, beginsNow ? state.begin() : [])
      }
    }
    if let notes {
      promise.future.observe { [state] _ in notes.refused(state.withLock { $0.refused } - refusedBefore) }
    }
    begin(beginning)
    return promise.future.shielded()
  }

  /// Registers a load. Returns `false` if it is refused.
  private func begins() -> Bool {
    if state.withLock({ $0.gate.loadBegins() }) { return true }
    let isUndo = TrackedScope.isUndoing
    return state.withLock { state in
      if isUndo { state.gate.undoBegins() } else { state.refused += 1 }
      return isUndo
    }
  }

  private func loadEnded() {
    ResetGuard.end(state.withLock { $0.take($0.gate.loadEnded()) })
  }

  private func begin(_ resets: [(number: Int, next: any HTTPLoader)]) {
    for (number, next) in resets {
      next.reset().observe { outcome in
        let ended = self.state.withLock { state in
          state.runs[number]?.outcome = outcome
          return state.take(state.gate.resetEnded(number))
        }
        ResetGuard.end(ended)
      }
    }
  }

  private static func end(_ runs: [Run]) {
    for run in runs { run.promise.complete(with: run.outcome ?? .success(())) }
  }
}

extension FutureName {
  fileprivate static let resetGuard = FutureName("ResetGuard")
}
