import FutureTree

/// The state of the single timer that wakes a throttle when a token is available. Pure: it schedules no timer itself.
///
/// # Invariants
/// 1. At most one timer is set or about to be set. `number` is its number.
/// 2. A timer with another number is obsolete. It is returned to be cancelled, and has no effect when it fires.
struct RefillTimer {
  private var number = 0
  private var isSet = false
  private var timer: FutureTimer?

  /// Returns the number of a timer to set, or `nil` if a timer is set.
  mutating func isNeeded() -> Int? {
    guard !isSet else { return nil }
    number += 1
    isSet = true
    return number
  }

  /// Registers the timer with this number. Returns the timer if it must be cancelled.
  mutating func didSet(_ timer: FutureTimer, _ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return timer }
    self.timer = timer
    return nil
  }

  /// Registers that no request waits for a token. Returns the timer that must be cancelled.
  mutating func isNotNeeded() -> FutureTimer? {
    isSet = false
    return timer.take()
  }

  /// Registers that the timer with this number has fired. Returns the timer to release.
  mutating func fired(_ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return nil }
    isSet = false
    return timer.take()
  }
}
