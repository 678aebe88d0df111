import Dispatch
import FutureTree

/// A timer that calls once, or never if it is ended before.
final class Deadline: Sendable {
  private let timer = Locked<(any DispatchSourceTimer)?>(nil)

  /// Calls `body` after a time. A negative time is none; times beyond ten years are ten years.
  func set(after timeout: Duration, _ body: @escaping @Sendable () -> Void) {
    let new = DispatchSource.makeTimerSource(queue: .global())
    let nanoseconds = timeout / .nanoseconds(1)
    let longest = 315_360_000e9
    new.setEventHandler(handler: body)
    new.schedule(deadline: .now() + .nanoseconds(Int(min(max(0, nanoseconds), longest))))
    timer.withLock { $0 = new }
    new.activate()
  }

  func end() {
    timer.withLock { $0.take() }?.cancel()
  }

  deinit {
    end()
  }
}
