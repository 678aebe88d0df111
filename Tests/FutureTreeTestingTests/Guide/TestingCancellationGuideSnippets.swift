import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the page, word for word. `TestingGuideTests` compares the two.
@Suite("Guide: testing cancellation")
struct TestingCancellationGuideSnippets {
  private let print = Transcript()

  /// Seats that can be held for some time.
  private final class Seats: Sendable {
    private let free: Locked<Int>
    private let count: Int
    private let givesBack: Bool

    init(_ count: Int, givesBack: Bool = true) {
      self.count = count
      self.givesBack = givesBack
      free = Locked(count)
    }

    var taken: Int { count - free.value }

    func hold(for duration: Duration, clock: any FutureClock) -> Future<Void> {
      free.withLock { $0 -= 1 }
      let time = Future.after(duration, clock: clock)
      time.observe { outcome in
        if self.givesBack || outcome.ending == .succeeded { self.free.withLock { $0 += 1 } }
      }
      return time
    }
  }

  @Test("A scenario is cancelled at each point")
  func everywhere() throws {
    // guide everywhere
    let report = try CancelEverywhere.run { trial in
      let seats = trial.track(Seats(2))
      trial.expect("no seat is taken") { _ in seats.taken == 0 }
      return seats.hold(for: .seconds(1), clock: trial.clock).map(on: trial.executor) { "booked" }
    }
    print(report.points.count, report.runs)  // 4 25
    // end

    #expect(print.lines == ["4 25"], "\(report)")
  }

  @Test("The text of a failure")
  func failure() throws {
    let failure = try #require(throws: CancelEverywhereFailure.self) {
      try CancelEverywhere.run { trial in
        let seats = Seats(2, givesBack: false)
        trial.expect("no seat is taken") { _ in seats.taken == 0 }
        return seats.hold(for: .seconds(1), clock: trial.clock).map(on: trial.executor) { "booked" }
      }
    }

    let page = Guide("TestingCancellation", of: "FutureTreeTesting")
    let lines = "\(failure)".split(separator: "\n").prefix(5).joined(separator: "\n")
    #expect((try page.text()).contains(lines), "\(failure)")
  }
}
