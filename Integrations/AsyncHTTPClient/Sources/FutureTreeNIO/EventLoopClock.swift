import FutureTree
import NIOConcurrencyHelpers
import NIOCore

/// A clock whose timers run on an event loop.
///
/// ```swift
/// let answer = load.timeout(after: .seconds(5), clock: EventLoopClock(channel.eventLoop))
/// ```
///
/// A timer costs no thread and no task. Its body runs on the event loop, and must not block it. With `EmbeddedEventLoop` or
/// `NIOAsyncTestingEventLoop`, a test advances the time.
///
/// A loop that is shut down drops its timers: their bodies never run.
public struct EventLoopClock: FutureClock {
  private let eventLoop: any EventLoop

  /// Creates a clock.
  public init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// The time since the origin of `NIODeadline`.
  public var now: Duration { .nanoseconds(Int64(clamping: eventLoop.now.uptimeNanoseconds)) }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    // A loop can run the task of a timer that was just cancelled.
    let body = NIOLockedValueBox<(@Sendable () -> Void)?>(body)
    let task = eventLoop.scheduleTask(in: TimeAmount(clamping: duration)) {
      body.withLockedValue { $0.take() }?()
    }
    return FutureTimer {
      let unused = body.withLockedValue { $0.take() }
      _ = unused  // Released here, not under the lock.
      task.cancel()
    }
  }
}

extension TimeAmount {
  /// The duration in nanoseconds, at most 100 years. A loop adds it to the current time.
  fileprivate init(clamping duration: Duration) {
    let century = Duration.seconds(100 * 365 * 86_400)
    self = TimeAmount(min(max(duration, .zero), century))
  }
}
