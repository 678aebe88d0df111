/// What became of a request to cancel (law 17).
///
/// ```swift
/// let receipt = branch.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")
/// print(receipt)  // withheld by 2 others, reached 3 futures
/// ```
///
/// It tells what happened while `cancel` ran. What the future ends with is its outcome's to tell: a request is a wish.
public struct CancelReceipt: Sendable, Hashable {
  /// What the request met. Where a tree gave several answers, the first of this list that applies.
  public enum Effect: Sendable, Hashable {
    /// The future had ended before, and how.
    case tooLate(Ending)
    /// No handler received it: the future, or every future behind it that could tell one, was asked at least as strongly
    /// before.
    case duplicate
    /// It completed `.cancelled` at once, by force or because it only had to let go.
    case completed
    /// At least one handler received it.
    case delivered
    /// It stopped at a future that so many other consumers still want; the branch that only the requester wanted ended.
    case withheld(by: Int)
    /// No handler was there to receive it. It waits for one, or for an inner future.
    case stored
  }

  /// What the request met.
  public let effect: Effect

  /// How many futures it reached, the target included.
  public let reached: Int

  /// How many handlers received it.
  public let handlers: Int
}

extension CancelReceipt: CustomStringConvertible {
  /// One phrase, such as `delivered to 1 handler, reached 3 futures`.
  public var description: String {
    "\(effectDescription), reached \(counted(reached, "future"))"
  }

  private var effectDescription: String {
    switch effect {
    case .tooLate(let ending): "too late, it had \(ending == .cancelled ? "been cancelled" : "\(ending)")"
    case .duplicate: "duplicate"
    case .completed: "completed at once"
    case .delivered: "delivered to \(counted(handlers, "handler"))"
    case .withheld(let others): "withheld by \(counted(others, "other"))"
    case .stored: "stored, no handler yet"
    }
  }

  private func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}
