/// How a future lingers. Law 24 (lingering).
///
/// The future has interest in itself: an entry that is counted as a consumer and is in no list. So each request is withheld
/// while the entry is counted. When it is the only consumer, a timer is scheduled, at whose end the entry departs like the
/// last consumer. Then the withheld request is delivered.
///
/// # Invariants
/// 1. The lock of the future guards the variables.
/// 2. `entry.isCounted` is true if and only if the state has its own interest, except between a transition of the state and
///    `lingerAfterTransition`, in one locked section.
/// 3. A new consumer replaces the entry of a scheduled timer. The signal of a replaced entry counts for nothing, so a timer
///    that fires late has no effect.
final class Linger: @unchecked Sendable {  // Because: see invariant 1.
  private var duration: Duration
  private let clock: any FutureClock
  private var entry = Linger.countedEntry()
  private var isScheduled = false
  private var timer: FutureTimer?

  init(_ duration: Duration, _ clock: any FutureClock) {
    self.duration = duration
    self.clock = clock
  }

  private static func countedEntry() -> Waiter {
    let entry = Waiter { _, _, _ in false }
    entry.isCounted = true
    return entry
  }

  /// Makes the entry and the state agree after a transition. Returns the work to do after the lock is released, if any.
  fileprivate func update(_ node: Node) -> Node.AfterLock? {
    if !entry.isCounted, node.state.hasOwnInterest { node.state.ownInterestDeparted() }
    guard node.state.hasOwnInterest else {
      entry.isCounted = false
      return cancelled()
    }
    guard node.state.ownInterest == .isEnding, !isScheduled else { return nil }
    isScheduled = true
    let (duration, clock, entry) = (duration, clock, entry)
    return {
      let timer = clock.schedule(after: duration) {
        CancellationPropagation.run(Signal(node: node, sender: entry, departure: .leaves))
      }
      let isNeeded = node.lock.withLock {
        guard entry === self.entry, self.isScheduled, node.state.isPending else { return false }
        self.timer = timer
        return true
      }
      if !isNeeded { timer.cancel() }
    }
  }

  /// Begins the interest again, for a new consumer. Returns the work to do after the lock is released, if any.
  fileprivate func renew(_ node: Node) -> Node.AfterLock? {
    guard node.state.lingers else { return nil }
    if isScheduled || !entry.isCounted {
      entry.isCounted = false
      entry = Linger.countedEntry()
    }
    node.state.beginOwnInterest()
    return cancelled()
  }

  /// Ends the schedule. Returns a closure that cancels the timer, if there is one.
  fileprivate func cancelled() -> Node.AfterLock? {
    isScheduled = false
    return timer.take().map { timer in { timer.cancel() } }
  }

  /// Returns the entry if it is counted.
  fileprivate var countedEntry: Waiter? { entry.isCounted ? entry : nil }

  fileprivate func change(to duration: Duration) { self.duration = duration }
}

extension Node {
  /// Makes this future linger.
  final func linger(for duration: Duration, clock: any FutureClock) {
    lock.withLock {
      guard state.isPending else { return }
      state.isShared = true
      if let linger = details?.linger { return linger.change(to: duration) }
      details = Details(replacing: details, linger: Linger(duration, clock))
      state.beginOwnInterest()
    }
  }

  /// Ends the linger for good. A request that only the linger withholds is delivered.
  ///
  /// - Returns: Whether a request was delivered.
  final func stopLingering() -> Bool {
    let (entry, delivers, cancelled) = lock.withLock { () -> (Waiter?, Bool, Node.AfterLock?) in
      guard state.isPending, state.lingers, let linger = details?.linger else { return (nil, false, nil) }
      let delivers = state.isOnlyLingering && state.requests.withheld != nil
      // The entry departs below like any other consumer.
      state.ownInterest = .none
      state.isRare = details?.monitor != nil
      return (linger.countedEntry, delivers, linger.cancelled())
    }
    cancelled?()
    if let entry { CancellationPropagation.run(Signal(node: self, sender: entry, departure: .leaves)) }
    return delivers
  }

  /// Performs the part of a transition that concerns the linger. Called under the lock.
  ///
  /// - Returns: The work to do after the lock is released, if any.
  @inline(never)
  final func lingerAfterTransition() -> Node.AfterLock? {
    guard state.isPending else { return nil }
    return details?.linger?.update(self)
  }

  /// Ends the wait of a linger for a new consumer. Called under the lock.
  ///
  /// - Returns: The work to do after the lock is released, if any.
  @inline(never)
  final func lingerForConsumer() -> Node.AfterLock? { details?.linger?.renew(self) }

  /// Cancels the timer of a future that has ended.
  @inline(never)
  final func finishLingering() {
    lock.withLock { details?.linger?.cancelled() }?()
  }
}
