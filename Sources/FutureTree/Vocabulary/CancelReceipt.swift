/// A report of what happened to a cancellation request. See <doc:Cancellation#Receipts>.
///
/// ```swift
/// let receipt = branch.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")
/// print(receipt)  // withheld by 2 other consumers, reached 3 futures
/// ```
///
/// A receipt covers only the time during which `cancel` ran. The outcome of the future shows the effect of the
/// request.
public struct CancelReceipt: Sendable, Hashable {
  /// The effect of a request. If several cases apply, the first one in this list is reported.
  public enum Effect: Sendable, Hashable {
    /// The future had completed before. The associated value is its ending.
    case tooLate(Ending)
    /// No handler received the request, because every reachable future had already received a request
    /// that was as strong.
    case duplicate
    /// The future completed as `.cancelled` at once, by force or because it only had to detach.
    case completed
    /// At least one handler received the request.
    case delivered
    /// The request stopped at a future with this number of other consumers. The requester's branch completed.
    case withheld(by: Int)
    /// The request was scheduled at a future that `shared(linger:clock:)` marked. The requester's branch completed.
    case lingering
    /// No handler was installed. The request is stored until a handler is installed or an inner future is linked.
    case stored
  }

  /// The effect of the request.
  public let effect: Effect

  /// The number of futures that the request reached, including the target.
  public let reached: Int

  /// The number of handlers that received the request.
  public let handlers: Int

  /// The activity of the first work whose handler received the request, such as `connecting`. `nil` in a preview, and if
  /// its promise does not describe it: see `Promise.describeActivity(of:_:)`.
  public var activity: String? { activityMet?.text }

  let activityMet: ActivityText?
}

extension CancelReceipt: CustomStringConvertible {
  /// One phrase, such as `delivered to 1 handler, reached 3 futures`.
  public var description: String {
    "\(effectDescription), reached \(counted(reached, "future"))\(activity.map { ", met while \($0)" } ?? "")"
  }

  private var effectDescription: String {
    switch effect {
    case .tooLate(let ending): "too late, the future had \(ending == .cancelled ? "been cancelled" : "\(ending)")"
    case .duplicate: "duplicate"
    case .completed: "completed at once"
    case .delivered: "delivered to \(counted(handlers, "handler"))"
    case .withheld(let others): "withheld by \(counted(others, "other consumer"))"
    case .lingering: "lingering"
    case .stored: "stored until a handler is installed"
    }
  }

  private func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}
