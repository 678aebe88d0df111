/// The counts of a propagation, from which its receipt is made. Plain bits, so that copies of it need no instructions.
struct CancelSummary {
  /// The number of futures to which the request was applied.
  var reached = 0
  /// The number of handlers that received the request or, in a preview, would receive it.
  var handlers = 0
  /// The number of futures that withheld the request, and the number of their other consumers. A future that lingers has none.
  private var stops = 0
  private var othersWaiting = 0
  /// Whether a future beyond the target had already received a request as strong. A source without a handler does not count.
  private var metDuplicate = false
  /// The effect at the target, unless the request was applied there.
  private var atTarget: CancelReceipt.Effect?
  private var hasEndedTarget = false
  /// The activity of the first work whose handler received the request.
  ///
  /// Retained until `makeReceipt` takes it.
  private var activity: Unmanaged<ActivityText>?

  mutating func record(_ disposition: FutureState.Disposition?) {
    let isTarget = reached == 0 && atTarget == nil
    switch disposition {
    case .tooLate(let ending):
      if isTarget { atTarget = .tooLate(ending) }
    case .duplicate:
      if isTarget { atTarget = .duplicate } else { metDuplicate = true }
    case .storedBefore:
      if isTarget { atTarget = .duplicate }
    case .withheld(let others):
      if isTarget { atTarget = others > 0 ? .withheld(by: others) : .lingering }
      stops += 1
      othersWaiting += others
    case .applied(let effect):
      if reached == 0 { hasEndedTarget = effect == .ends || effect == .skipsBody }
      reached += 1
    case nil:
      break
    }
  }

  /// Records a future that the request has ended.
  @inline(__always)
  mutating func recordEnd() {
    if reached == 0 { hasEndedTarget = true }
    reached += 1
  }

  /// Calls the handlers of a source.
  mutating func callHandlers(of source: Source, _ request: CancelRequest) {
    if activity == nil, source.hasDetails { activity = source.activityMet.map { .passRetained($0) } }
    handlers += source.callHandlers(request)
  }

  /// Makes the receipt. Called once, when the propagation has ended.
  @inline(__always) func makeReceipt() -> CancelReceipt {
    var effect: CancelReceipt.Effect = .stored
    if let atTarget {
      effect = atTarget
    } else if hasEndedTarget {
      effect = .completed
    } else if handlers > 0 {
      effect = .delivered
    } else if othersWaiting > 0 {
      effect = .withheld(by: othersWaiting)
    } else if stops > 0 {
      effect = .lingering
    } else if metDuplicate {
      effect = .duplicate
    }
    // A duplicate reaches only its target. A withheld request that its withdrawal delivered is another request.
    let isDuplicate = if case .duplicate? = atTarget { true } else { false }
    return CancelReceipt(
      effect: effect, reached: isDuplicate ? 1 : max(1, reached + stops), handlers: handlers,
      activityMet: activity?.takeRetainedValue())
  }
}
