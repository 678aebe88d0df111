/// What is known of one load that is held to times, as a value. Pure: takes no lock, reads no clock.
///
/// # Invariants
/// 1. It ends once, by an outcome or by a time that is over; after that nothing is set and nothing fires.
/// 2. A report is about the answer unless it says that more was sent: a transport reports the head of the answer with what
///    it has sent so far, and then each piece of either body.
struct TimeoutState {
  /// A time that can be over.
  enum Kind: Hashable {
    case deadline
    case attempt
    case firstByte
    case idle
  }

  private(set) var hasEnded = false
  private var lastActivity: Duration
  private var sent = 0
  private var hasAnswer = false

  init(now: Duration) {
    lastActivity = now
  }

  /// Returns whether this was the first report about the answer.
  mutating func progressed(_ progress: HTTPProgress, now: Duration) -> Bool {
    guard !hasEnded else { return false }
    lastActivity = max(lastActivity, now)
    let count = progress.sent.completed
    defer { sent = count }
    let isAboutAnswer = progress.received.completed > 0 || progress.received.total != nil || count == 0 || count == sent
    guard isAboutAnswer, !hasAnswer else { return false }
    hasAnswer = true
    return true
  }

  /// What came of a timer.
  enum Firing: Equatable {
    /// Something has happened since it was set: look again after this time.
    case again(Duration)
    /// The time is over, and with it the load.
    case isOver
    case nothing
  }

  /// - Parameter limit: for `idle`, how long nothing may happen.
  mutating func fired(_ kind: Kind, limit: Duration, now: Duration) -> Firing {
    guard !hasEnded, kind != .firstByte || !hasAnswer else { return .nothing }
    if kind == .idle {
      let left = lastActivity + limit - now
      if left > .zero { return .again(left) }
    }
    hasEnded = true
    return .isOver
  }

  mutating func ended() {
    hasEnded = true
  }
}
