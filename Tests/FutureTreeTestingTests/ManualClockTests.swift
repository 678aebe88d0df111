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

    #expect(log.value == ["early at 1.0 seconds", "also early at 1.0 seconds", "late at 3.0 seconds"])
    #expect(clock.now == .seconds(5))
    #expect(clock.timerCount == 1)
  }

  @Test("A timer that a body schedules within the time is called in the same advance")
  func schedulesMore() {
    @Sendable func tick() {
      record("tick")
      _ = clock.schedule(after: .seconds(1)) { tick() }
    }
    _ = clock.schedule(after: .seconds(1)) { tick() }

    clock.advance(by: .seconds(3))

    #expect(log.value == ["tick at 1.0 seconds", "tick at 2.0 seconds", "tick at 3.0 seconds"])
  }

  @Test("A cancelled timer is not called and is removed")
  func cancelled() {
    let timer = clock.schedule(after: .seconds(1)) { record("never") }

    timer.cancel()
    timer.cancel()
    clock.advance(by: .seconds(2))

    #expect(log.value == [])
    #expect(clock.timerCount == 0)
  }

  @Test("advanceToNextTimer() advances to the next timer and no further")
  func nextTimer() {
    for seconds in [2, 7] { _ = clock.schedule(after: .seconds(seconds)) { record("\(seconds)") } }

    let moved = [clock.advanceToNextTimer(), clock.advanceToNextTimer(), clock.advanceToNextTimer()]

    #expect(moved == [true, true, false])
    #expect(log.value == ["2 at 2.0 seconds", "7 at 7.0 seconds"])
    #expect(clock.now == .seconds(7))
  }

  @Test("A clock cannot be moved back")
  func back() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .failure) { ManualClock().advance(by: .seconds(-1)) }
    }
  }
}
