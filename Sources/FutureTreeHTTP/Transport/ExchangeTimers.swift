import FutureTree

/// The timers of one exchange. After `end()`, none is active and none can be set.
///
/// The methods return timers that the caller cancels outside every lock.
struct ExchangeTimers {
  enum Name {
    case total
    case idle
  }

  private var total: FutureTimer?
  private var idle: FutureTimer?
  private var hasEnded = false

  /// - Returns: A timer to cancel: the previous timer with this name, or the new timer after the end.
  mutating func set(_ name: Name, _ timer: FutureTimer?) -> FutureTimer? {
    guard !hasEnded else { return timer }
    var timer = timer
    switch name {
    case .total: swap(&total, &timer)
    case .idle: swap(&idle, &timer)
    }
    return timer
  }

  mutating func end() -> (FutureTimer?, FutureTimer?) {
    hasEnded = true
    return (total.take(), idle.take())
  }
}
