import Dispatch
import Foundation
import FutureTree
import Works

extension Row {
  /// Compares two threads with one thread that does half the work. Each thread makes, completes and releases its own chains of
  /// 1,000 `map`. The ratio is divided by the gain of a counting loop, because a machine may not provide two processors.
  ///
  /// Compares threads that add and remove observations of one pending future at the same time with threads that do so in a list
  /// of closures. A `Mutex` guards the list.
  static let threads =
    ownTrees
    + [2, 8].map { threads in
      Row(
        "\(threads) threads on one pending future", against: "a `Mutex`-guarded list", .timesTheCost,
        ours: contended(threads) {
          let promise = Promise<Int>()
          return { promise.future.observe { _ in }.remove() }
        },
        theirs: contended(threads) {
          let list = GuardedList()
          return { list.remove(list.append { _ in }) }
        })
    }

  /// A work with a number of system threads, each of which runs a closure 1,000 times.
  private static func contended(_ threads: Int, _ make: @escaping @Sendable () -> @Sendable () -> Void) -> Work {
    Work("observation", operations: 1000 * threads) { repetitions in
      let body = make()
      return timed {
        let group = DispatchGroup()
        for _ in 0..<threads {
          group.enter()
          Thread {
            for _ in 0..<(repetitions * 1000) { body() }
            group.leave()
          }.start()
        }
        group.wait()
      }
    }
  }

  private static let ownTrees = [
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
