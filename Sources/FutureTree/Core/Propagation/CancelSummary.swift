/// What a propagation has met, of which it makes a receipt.
struct CancelSummary {
  /// To how many futures the request was applied.
  var reached = 0
  /// How many handlers received it or, in a preview, would receive it.
  var handlers = 0
  /// At how many futures it was withheld, and how many other consumers these have.
  private var stops = 0
  private var othersWaiting = 0
  /// Whether a future beyond the target had received a request as strong before, unless it is a source without a handler.
  private var metDuplicate = false
  /// What became of the request at the target, unless it was applied there.
  private var atTarget: CancelReceipt.Effect?
  private var hasEndedTarget = false

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
      if isTarget { atTarget = .withheld(by: others) }
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

  var receipt: CancelReceipt {
    var effect: CancelReceipt.Effect = .stored
    if let atTarget {
      effect = atTarget
    } else if hasEndedTarget {
      effect = .completed
    } else if handlers > 0 {
      effect = .delivered
    } else if othersWaiting > 0 {
      effect = .withheld(by: othersWaiting)
    } else if metDuplicate {
      effect = .duplicate
    }
    // A duplicate reaches its target only. What its withdrawal delivered is the request of another.
    let isDuplicate = if case .duplicate? = atTarget { true } else { false }
    return CancelReceipt(effect: effect, reached: isDuplicate ? 1 : max(1, reached + stops), handlers: handlers)
  }
}
