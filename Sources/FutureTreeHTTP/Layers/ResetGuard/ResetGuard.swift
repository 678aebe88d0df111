import FutureTree

/// Refuses loads while the chain behind it is reset, and lets resets that overlap be one. Put it first.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> URLSessionLoader()
/// api.reset()
/// api.load(request)  // Fails with `HTTPError.Code.resetInProgress`.
/// ```
///
/// **Reset.** From the moment that a reset is asked until it has ended, loads fail. The reset goes on to the next loader when
/// every load that was let in before has reached it, so that none slips in behind the wipe, and it ends when all of them have
/// ended as well: then nothing of the time before is alive, and the chain is usable again, also if the reset failed. Whoever
/// asks for the same meanwhile gets the reset that runs. It cannot be cancelled; who cancels its future stops waiting.
///
/// It cancels nothing itself. Without an `Autocancel` behind it, a reset waits until the loads end by themselves, but for
/// what the transport stops.
///
/// **Cancellation.** It holds nothing back: a request to cancel goes to the loader that has the load.
///
/// **In two chains** it refuses the loads of both while one of them is reset, and a reset waits for the loads of both; each
/// chain is reset when it is asked. A layer of one chain may reset the other when it is reset itself.
public final class ResetGuard: HTTPLayer {
  private struct Run {
    let next: any HTTPLoader
    let promise = Promise<Void>()
    var hasBegun = false
    var outcome: Outcome<Void>?
  }

  private struct State {
    var gate = ResetGate()
    /// The resets of the gate, by their numbers there.
    var runs: [Int: Run] = [:]

    /// The resets that begin now.
    mutating func begin() -> [(number: Int, next: any HTTPLoader)] {
      runs.filter { !$0.value.hasBegun }.sorted { $0.key < $1.key }.map { number, run in
        runs[number]!.hasBegun = true
        return (number, run.next)
      }
    }

    /// Takes out the resets that are over.
    mutating func take(_ numbers: [Int]) -> [Run] {
      numbers.compactMap { runs.removeValue(forKey: $0) }
    }
  }

  private let state = Locked(State())

  /// An open guard.
  public init() {}

  /// Loads, unless the chain is being reset.
  ///
  /// - Returns: a future with the outcome of `next`, or a failure with the code `resetInProgress`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard state.withLock({ $0.gate.loadBegins() }) else {
      let error = HTTPError(.resetInProgress, "The chain is being reset. Load again when the reset has ended.")
      return .failed(error).named(.resetGuard)
    }
    let future = next.load(request)
    begin(state.withLock { $0.gate.loadEntered() ? $0.begin() : [] })
    future.observe { _ in
      ResetGuard.end(self.state.withLock { $0.take($0.gate.loadEnded()) })
    }
    // Returns a derived future, not the observed one. A caller that cancels or forces it ends only its own future.
    return future.forwarded().named(.resetGuard)
  }

  /// Refuses loads, resets `next`, and waits for what was let in before.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let (promise, beginning) = state.withLock { state -> (Promise<Void>, [(number: Int, next: any HTTPLoader)]) in
      switch state.gate.resetAsked(of: identity(of: next)) {
      case .joins(let number):
        return (state.runs[number]!.promise, [])
      case .isNew(let number, let beginsNow):
        let run = Run(next: next)
        state.runs[number] = run
        return (run.promise, beginsNow ? state.begin() : [])
      }
    }
    begin(beginning)
    return promise.future.shielded()
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
