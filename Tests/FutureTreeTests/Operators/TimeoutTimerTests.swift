import FutureTree
import TestSupport
import Testing

@Suite("Operators: timer of a timeout")
struct TimeoutTimerTests {
  @Test("A future that completes while the clock sets the timer cancels it")
  func completesMeanwhile() {
    let promise = Promise<Int>()
    let clock = OwningClock { promise.succeed(1) }

    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    expectEqual(timed.outcomeIfCompleted, .success(1))
    expectEqual(clock.cancelled, 1)
  }

  @Test("A future that completes before the timeout cancels the timer once")
  func completesInTime() {
    let promise = Promise<Int>()
    let clock = OwningClock()
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    promise.succeed(1)

    expectEqual(timed.outcomeIfCompleted, .success(1))
    expectEqual(clock.cancelled, 1)
  }

  @Test("A future that timed out releases the timer, even one that retains its body")
  func releasesTimer() {
    let promise = Promise<Int>()
    let clock = OwningClock()
    var timed: Future<Int>? = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.timer?.body()
    let outcome = timed?.outcomeIfCompleted
    timed = nil

    #expect(outcome?.error is TimeoutError)
    #expect(clock.timer == nil)
  }
}

/// A clock that does not retain its only timer. The timer retains its body. The returned `FutureTimer` retains the timer.
private final class OwningClock: FutureClock, @unchecked Sendable {  // Because: one thread uses it.
  final class Timer: Sendable {
    let body: @Sendable () -> Void

    init(body: @escaping @Sendable () -> Void) {
      self.body = body
    }
  }

  private(set) weak var timer: Timer?
  private(set) var cancelled = 0
  private let whileSetting: @Sendable () -> Void

  init(whileSetting: @escaping @Sendable () -> Void = {}) {
    self.whileSetting = whileSetting
  }

  var now: Duration { .zero }

  func schedule(after _: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let timer = Timer(body: body)
    self.timer = timer
    whileSetting()
    return FutureTimer { [weak self] in
      withExtendedLifetime(timer) {}
      self?.cancelled += 1
    }
  }
}
