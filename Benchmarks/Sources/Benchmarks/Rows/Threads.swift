import Dispatch
import Works

extension Row {
  /// Two threads that each make, complete and let go of chains of 1,000 `map` of their own, against one thread that does
  /// half of that; divided by what a loop that only counts gains in the same way, because a machine may not grant two
  /// processors.
  static let threads = [
    Row(
      "2 threads on trees of their own", against: "1 thread, as a spin loop gains", .throughput,
      ours: timeOfTwo(OurWorks.chain(of: 1000)), theirs: timeOfTwo(spinLoop))
  ]

  /// The time of two threads over that of one, each with the same work.
  private static func timeOfTwo(_ work: Work) -> Work {
    Work("time of 1", operations: 1) { repetitions in
      let one = timed { _ = work.run(repetitions) }
      let two = timed { DispatchQueue.concurrentPerform(iterations: 2) { _ in _ = work.run(repetitions) } }
      return two / one * Double(repetitions)
    }
  }

  private static let spinLoop = Work("step", operations: 1000) {
    var number = 1
    for _ in 0..<100_000 { number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
    consume(number)
  }
}
