import FutureTree

/// A clock whose time moves only when the test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let answer = Promise<Int>().future.timeout(after: .seconds(5), clock: clock)
/// clock.advance(by: .seconds(5))
/// #expect(answer.isCompleted)
/// ```
///
/// Timers fire on the thread that advances the clock, one after another, the earliest first. A timer's body can advance the
/// clock: the time then moves on from the deadline of that timer.
///
/// - Note: All members can be used from any thread. If several threads advance the clock, the time moves by the sum of the
///   durations.
public final class ManualClock: FutureClock {
  /// One call that advances a clock.
  private final class Advance: @unchecked Sendable {  // Because: the lock of the clock guards `left`.
    let clock: ObjectIdentifier
    /// The duration by which the time has yet to move.
    var left: Duration

    init(of clock: ManualClock, by duration: Duration) {
      self.clock = ObjectIdentifier(clock)
      left = duration
    }
  }

  private struct Time {
    var now = Duration.zero
    var timers = TimerQueue()

    /// Moves to the next timer that is due at `limit`, and takes its body. Returns `nil`, and does nothing, if there is none.
    mutating func moveToTimer(by limit: Duration, for advances: [Advance]) -> TimerQueue.Body? {
      guard let (deadline, body) = timers.popDue(at: limit) else { return nil }
      move(to: deadline, for: advances)
      return body
    }

    /// - Parameter advances: The calls on this thread that the time moves for, one inside the other.
    mutating func move(to target: Duration, for advances: [Advance]) {
      let distance = target - now
      guard distance > .zero else { return }
      now = target
      for advance in advances { advance.left = max(.zero, advance.left - distance) }
    }
  }

  private let time = Locked(Time())
  /// The calls whose timer bodies run on the current thread, the outermost first.
  @TaskLocal private static var running: [Advance] = []

  /// Creates a clock whose time is zero.
  public init() {}

  public var now: Duration { time.withLock { $0.now } }

  /// The number of timers that have not fired.
  public var timerCount: Int { time.withLock { $0.timers.count } }

  /// The deadline of the next timer, or `nil` if there is no timer.
  public var nextDeadline: Duration? { time.withLock { $0.timers.nextDeadline } }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let entry = time.withLock { $0.timers.insert(at: $0.now + max(duration, .zero), body) }
    // Weak: only the clock keeps the body, so that the body is released with the clock.
    return FutureTimer { [weak self, weak entry] in
      guard let self, let entry else { return }
      time.release { $0.timers.remove(entry) }
    }
  }

  /// Moves the time forward and fires the timers that are due, each at its own deadline.
  ///
  /// When this method returns, every timer that was due has fired. This includes timers that other timers scheduled within
  /// `duration`. The bodies of futures that these timers completed have run as well, if their executors run jobs at once.
  /// If you call this method inside a callback of a future, consumers are notified when the callback returns.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    precondition(
      duration >= .zero, "A clock cannot move back by \(duration.rounded). Pass zero or a positive duration.")
    let advance = Advance(of: self, by: duration)
    while let body = moveToNextTimer(for: advance) { call(body, in: advance) }
  }

  /// Moves the time to the next deadline and fires the timers that are due then.
  ///
  /// - Returns: `false` if there is no timer.
  @discardableResult
  public func advanceToNextTimer() -> Bool {
    let advance = Advance(of: self, by: .zero)
    let advances = advances(with: advance)
    let body = time.withLock { time -> TimerQueue.Body? in
      guard let next = time.timers.nextDeadline else { return nil }
      return time.moveToTimer(by: next, for: advances)
    }
    guard let body else { return false }
    call(body, in: advance)
    self.advance(by: .zero)
    return true
  }

  /// Moves to the next timer that is due, or to the end of the duration. Returns the body of the timer.
  private func moveToNextTimer(for advance: Advance) -> TimerQueue.Body? {
    let advances = advances(with: advance)
    return time.withLock { time -> TimerQueue.Body? in
      let target = time.now + advance.left
      if let body = time.moveToTimer(by: target, for: advances) { return body }
      time.move(to: target, for: advances)
      return nil
    }
  }

  /// The calls that advance this clock on this thread, and a new one.
  private func advances(with new: Advance) -> [Advance] {
    ManualClock.running.filter { $0.clock == new.clock } + [new]
  }

  private func call(_ body: @escaping TimerQueue.Body, in advance: Advance) {
    ManualClock.$running.withValue(ManualClock.running + [advance]) { body() }
  }
}
