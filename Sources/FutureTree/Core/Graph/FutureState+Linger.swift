/// The interest that a future has in itself while it lingers. Law 24 (lingering).
extension FutureState {
  enum OwnInterest: UInt8 {
    /// The future does not linger.
    case none
    /// The time has passed, or nothing delays the request. A new consumer begins the interest again.
    case over
    /// It is counted as a consumer.
    case counted
    /// It is counted, and is the only interest. The timer runs, or is about to be set.
    case isEnding
  }

  /// Whether the future lingers. Its mark `isWatched` is then set.
  var lingers: Bool { ownInterest != .none }

  /// Whether the future's own interest is counted as a consumer.
  var hasOwnInterest: Bool { ownInterest.rawValue >= OwnInterest.counted.rawValue }

  /// The number of consumers, without the future's own interest.
  var otherConsumers: Int { Int(consumers) - (hasOwnInterest ? 1 : 0) }

  /// Whether the future's own interest is the only interest in it.
  var isOnlyLingering: Bool { hasOwnInterest && consumers == 1 }

  /// Begins the interest, or stops its timer.
  mutating func beginOwnInterest() {
    if !hasOwnInterest { consumers += 1 }
    ownInterest = .counted
    isWatched = true
  }

  /// Starts the timer if there is no other interest.
  mutating func endOwnInterestLater() {
    if ownInterest == .counted, consumers == 1 { ownInterest = .isEnding }
  }

  /// Ends the interest if no consumer but the senders has interest, and a request is not delayed.
  @inline(never)
  mutating func endOwnInterest(for request: CancelRequest?, senders: Int) {
    guard Int(consumers) == senders + 1, request?.endsLinger == true || requests.withheld?.endsLinger == true else {
      return
    }
    ownInterestDeparted()
    consumers -= 1
  }

  /// Records that the entry of the `Linger`, which is no longer counted, has sent a signal with which it departed.
  mutating func ownInterestDeparted() { ownInterest = .over }
}
