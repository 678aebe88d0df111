import FutureTree
import FutureTreeTesting
import NIOConcurrencyHelpers

/// A clock that reports timers as soon as they are scheduled, so that a test can wait for one before it advances time.
package final class ReportingClock: FutureClock {
  package let manual = ManualClock()
  private let scheduled = NIOLockedValueBox(0)
  private let waiters = NIOLockedValueBox<[(count: Int, promise: Promise<Void>)]>([])

  package init() {}

  /// A future that completes when the first timer is scheduled.
  package var firstTimer: Future<Void> { timers(1) }

  package var now: Duration { manual.now }

  /// Returns a future that completes when a number of timers have been scheduled.
  package func timers(_ count: Int) -> Future<Void> {
    let promise = Promise<Void>()
    waiters.withLockedValue { $0.append((count, promise)) }
    report()
    return promise.future
  }

  package func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let timer = manual.schedule(after: duration, body)
    scheduled.withLockedValue { $0 += 1 }
    report()
    return timer
  }

  private func report() {
    let count = scheduled.withLockedValue { $0 }
    let due = waiters.withLockedValue { waiters in
      let due = waiters.filter { $0.count <= count }
      waiters.removeAll { $0.count <= count }
      return due
    }
    for waiter in due { waiter.promise.succeed() }
  }
}
