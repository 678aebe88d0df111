import Foundation
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("ManualClock")
struct ManualClockTests {
  private let clock = ManualClock()
  private let log = Locked<[String]>([])

  private func record(_ line: String) {
    let line = "\(line) at \(clock.now)"
    log.withLock { $0.append(line) }
  }

  @Test("Due timers are called in order, each at its own time")
  func order() {
    for (name, seconds) in [("late", 3), ("early", 1), ("also early", 1), ("never", 9)] {
      _ = clock.schedule(after: .seconds(seconds)) { record(name) }
    }

    clock.advance(by: .seconds(5))

    expectEqual(log.value, ["early at 1.0 seconds", "also early at 1.0 seconds", "late at 3.0 seconds"])
    expectEqual(clock.now, .seconds(5))
    expectEqual(clock.timerCount, 1)
  }

  @Test("A timer that a body schedules within the time is called in the same advance")
  func schedulesMore() {
    @Sendable func tick() {
      record("tick")
      _ = clock.schedule(after: .seconds(1)) { tick() }
    }
    _ = clock.schedule(after: .seconds(1)) { tick() }

    clock.advance(by: .seconds(3))

    expectEqual(log.value, ["tick at 1.0 seconds", "tick at 2.0 seconds", "tick at 3.0 seconds"])
  }

  @Test("A cancelled timer is not called and is removed")
  func cancelled() {
    let timer = clock.schedule(after: .seconds(1)) { record("never") }

    timer.cancel()
    timer.cancel()
    clock.advance(by: .seconds(2))

    expectEqual(log.value, [])
    expectEqual(clock.timerCount, 0)
  }

  @Test("advanceToNextTimer() advances to the next timer and no further")
  func nextTimer() {
    for seconds in [2, 7] { _ = clock.schedule(after: .seconds(seconds)) { record("\(seconds)") } }

    let moved = [clock.advanceToNextTimer(), clock.advanceToNextTimer(), clock.advanceToNextTimer()]

    expectEqual(moved, [true, true, false])
    expectEqual(log.value, ["2 at 2.0 seconds", "7 at 7.0 seconds"])
    expectEqual(clock.now, .seconds(7))
  }

  @Test("A timer that advances the clock moves on from its own deadline", arguments: [4, 20])
  func nested(seconds: Int) {
    _ = clock.schedule(after: .seconds(3)) { clock.advance(by: .seconds(seconds)) }

    clock.advance(by: .seconds(10))

    expectEqual(clock.now, .seconds(max(10, 3 + seconds)))
  }

  @Test("Timers of two clocks that advance each other count for the clock that they move")
  func twoClocks() {
    let other = ManualClock()
    _ = clock.schedule(after: .seconds(1)) { other.advance(by: .seconds(5)) }
    _ = other.schedule(after: .seconds(2)) { clock.advance(by: .seconds(3)) }

    clock.advance(by: .seconds(10))

    expectEqual(clock.now, .seconds(10))
    expectEqual(other.now, .seconds(5))
  }

  @Test("Threads that advance the clock lose no time, and each timer fires once")
  func threads() {
    let fired = Locked(0)
    for step in 1...1_000 {
      _ = clock.schedule(after: .nanoseconds(step)) { fired.withLock { $0 += 1 } }
    }

    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<20_000 { clock.advance(by: .nanoseconds(1)) }
    }

    expectEqual(clock.now, .nanoseconds(80_000))
    expectEqual(fired.value, 1_000)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A thread that advances the clock while a timer runs on another adds its time")
  func duringTimer() {
    let (began, moved) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    _ = clock.schedule(after: .seconds(3)) {
      began.signal()
      moved.wait()
    }
    let helper = Thread { [clock] in
      began.wait()
      clock.advance(by: .seconds(4))
      moved.signal()
    }
    helper.start()

    clock.advance(by: .seconds(10))

    expectEqual(clock.now, .seconds(14))
  }

  @Test("Threads that advance to the next timer move to the timers that they fire")
  func nextTimerOnThreads() {
    for step in 1...20_000 { _ = clock.schedule(after: .nanoseconds(step)) {} }

    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      while clock.advanceToNextTimer() {}
    }

    expectEqual(clock.now, .nanoseconds(20_000))
    expectEqual(clock.timerCount, 0)
  }

  @Test("A clock cannot be moved back")
  func back() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .failure) { ManualClock().advance(by: .seconds(-1)) }
    }
  }
}
