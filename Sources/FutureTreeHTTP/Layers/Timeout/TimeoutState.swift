/// The state of one load with time limits. Pure: takes no lock, reads no clock.
///
/// # Invariants
/// 1. It completes once, by an outcome or by an exceeded limit. Afterward no timer is set, and no timer has an effect.
/// 2. A progress report is about the response, unless it says that more was sent. A transport reports the head of the
///    response together with the bytes sent so far, and then each piece of either body.
struct TimeoutState {
  /// A time limit.
  enum Kind: Hashable {
    case deadline
    case attempt
    case firstByte
    case idle
  }

  private(set) var hasEnded = false
  private var lastActivity: Duration
  /// Whether bytes waited for the reader of a stream when the idle timer fired.
  private var wasPaused = false
  private var sent = 0
  private var hasAnswer = false

  init(now: Duration) {
    lastActivity = now
  }

  /// Registers a progress report. Returns whether it was the first report about the response.
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

  /// The result of a timer that fires.
  enum Firing: Equatable {
    /// Data was transferred since the timer was set: check again after this time.
    case again(Duration)
    /// The limit is exceeded, and the load fails.
    case isOver
    case nothing
  }

  /// - Parameters:
  ///   - limit: For `idle`, the maximum time without a transfer.
  ///   - isPaused: Whether bytes wait for the reader of a stream, so that the transport can be paused. The whole limit applies
  ///     again when the timer fires for the first time afterward.
  mutating func fired(_ kind: Kind, limit: Duration, isPaused: Bool = false, now: Duration) -> Firing {
    guard !hasEnded, kind != .firstByte || !hasAnswer else { return .nothing }
    if kind == .idle {
      let left = isPaused || wasPaused ? limit : lastActivity + limit - now
      if wasPaused { lastActivity = now }
      wasPaused = isPaused
      if left > .zero { return .again(left) }
    }
    hasEnded = true
    return .isOver
  }

  mutating func ended() {
    hasEnded = true
  }
}
