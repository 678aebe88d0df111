import FutureTree

/// The one timer that wakes a throttle when there is a token, as a value. Pure: schedules nothing itself.
///
/// # Invariants
/// 1. At most one timer is set or about to be; `number` is its number.
/// 2. A timer of another number is not needed: it is returned to be cancelled, and what it does is nothing.
struct RefillTimer {
  private var number = 0
  private var isSet = false
  private var timer: FutureTimer?

  /// Returns the number of a timer to be set; nil if there is one.
  mutating func isNeeded() -> Int? {
    guard !isSet else { return nil }
    number += 1
    isSet = true
    return number
  }

  /// The timer with this number is set. Returns it if it is to be cancelled.
  mutating func didSet(_ timer: FutureTimer, _ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return timer }
    self.timer = timer
    return nil
  }

  /// Nobody waits for a token. Returns the timer that is to be cancelled.
  mutating func isNotNeeded() -> FutureTimer? {
    isSet = false
    return timer.take()
  }

  /// The time of the timer with this number has come. Returns what is to be freed.
  mutating func fired(_ number: Int) -> FutureTimer? {
    guard isSet, number == self.number else { return nil }
    isSet = false
    return timer.take()
  }
}
