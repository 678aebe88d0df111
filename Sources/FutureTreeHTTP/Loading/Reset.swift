import Foundation
import FutureTree

/// One reset of a chain: the one place that knows the order of the steps (H6, refuse, drain, wipe).
struct Reset {
  private struct Step {
    let part: any HTTPPart
    let notes: ResetNotes
  }

  private let clock: any FutureClock
  private let start: Duration
  /// The parts by their distance from the outer end, by the longest way (`PartGraph`).
  private let levels: [[Step]]

  private var steps: [Step] { levels.flatMap { $0 } }

  /// Resets a loader.
  ///
  /// - Parameter willAdmit: Called when all parts have been wiped, before they admit loads. No later reset may join this one.
  /// - Returns: A future that succeeds when all parts have been reset, with their notes.
  static func begin(
    _ loader: any HTTPLoader, _ clock: any FutureClock, willAdmit: @escaping @Sendable () -> Void = {}
  ) -> Future<ResetReceipt> {
    Reset(loader, clock).run(willAdmit)
  }

  private init(_ loader: any HTTPLoader, _ clock: any FutureClock) {
    self.clock = clock
    start = clock.now
    levels = PartGraph(loader).levels.map { parts in
      parts.map { Step(part: $0, notes: ResetNotes($0.typeName, clock)) }
    }
  }

  private func run(_ willAdmit: @escaping @Sendable () -> Void) -> Future<ResetReceipt> {
    let ended = each(steps) { $0.refuse($1) }
    return after(drain(from: 0)) {
      after(ended) {
        after(each(steps) { $0.wipe($1) }) {
          willAdmit()
          // From the inner end, so that a load that an outer part admits passes the inner parts.
          for step in steps.reversed() { step.part.admit(step.notes) }
          return .succeeded(ResetReceipt(parts: steps.map(\.notes.part), duration: clock.now - start))
        }
      }
    }
  }

  private func drain(from level: Int) -> Future<Void> {
    guard level < levels.count else { return .succeeded }
    return after(each(levels[level]) { $0.drain($1) }) { drain(from: level + 1) }
  }

  /// Calls a step of several parts. Returns a future that succeeds when all have ended.
  private func each(_ steps: [Step], _ step: (any HTTPPart, ResetNotes) -> Future<Void>) -> Future<Void> {
    let pending = steps.compactMap { $0.notes.measure(step($0.part, $0.notes)) }
    return pending.isEmpty ? .succeeded : Future.allSettled(pending).map { _ in }
  }

  /// Continues at once where there is nothing to await, also inside a callback: a chain without loads is reset when `reset()`
  /// returns.
  private func after<Value>(
    _ future: Future<Void>, _ body: @escaping @Sendable () -> Future<Value>
  ) -> Future<Value> {
    future.isCompleted ? body() : future.flatMap(body)
  }
}

extension HTTPChain {
  /// The guard through which all loads of the chain pass.
  var resetGuard: ResetGuard? {
    layer as? ResetGuard ?? (layer.parts.isEmpty ? (next as? HTTPChain)?.resetGuard : nil)
  }
}

extension HTTPLoader {
  /// Resets the loader, as `reset()` does, and returns a receipt.
  ///
  /// - Parameter clock: The clock of the durations.
  /// - Returns: A future that succeeds when the reset has completed, also if it has failed: see ``ResetReceipt/error``.
  ///   Cancelling it only ends the wait.
  public func resetWithReceipt(clock: any FutureClock = .system) -> Future<ResetReceipt> {
    guard let chain = self as? HTTPChain, let gate = chain.resetGuard else {
      return Reset.begin(self, clock).shielded()
    }
    return gate.join(chain) { Reset.begin(chain, clock, willAdmit: $0) }.shielded()
  }
}

extension Future where Value == Void {
  /// Combines several resets. The returned future completes when all resets have completed, and fails if one of them
  /// failed.
  ///
  /// ```swift
  /// func reset() -> Future<Void> { .resets([accounts.reset(), files.reset()]) }
  /// ```
  ///
  /// All resets run to their end, even if one fails or the future is cancelled. Cancelling the future only stops the
  /// wait, so that no state is wiped partially (the rule *Refuse, drain, wipe*).
  ///
  /// - Returns: A future that fails with `ResetFailed`.
  public static func resets(_ resets: [Future<Void>]) -> Future<Void> {
    Future<Void>.allSettled(resets)
      .map { outcomes in if let error = ResetFailed(outcomes.flatMap(\.resetErrors)) { throw error } }
      .shielded()
  }
}

/// The error of a reset that failed in some parts of a chain. All other parts were reset.
public struct ResetFailed: Error, CustomStringConvertible {
  /// The errors, one for each step that failed.
  public let errors: [any Error]

  /// Returns `nil` without errors.
  init?(_ errors: [any Error]) {
    if errors.isEmpty { return nil }
    self.errors = errors
  }

  /// The number of parts that failed. The descriptions of the errors are omitted, because they may contain secrets.
  public var description: String {
    "The reset failed in \(errors.count) part\(errors.count == 1 ? "" : "s") of the chain. See `errors`, and reset again."
  }
}

extension CancellationReason {
  /// The reason for the request that a reset of a chain makes.
  package static let chainReset = CancellationReason.of(.reset, "the chain was reset")
}

extension Outcome<Void> {
  /// The errors of a reset with this outcome. A cancelled reset counts as failed, because its work is incomplete.
  var resetErrors: [any Error] {
    switch self {
    case .success: []
    case .failure(let error as ResetFailed): error.errors
    case .failure(let error): [error]
    case .cancelled(let reason): [FutureCancelled(reason: reason)]
    }
  }
}

extension ResetFailed: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
