import Dispatch
import Foundation
import FutureTree
import Works

extension Row {
  /// Two threads that each make, complete and let go of chains of 1,000 `map` of their own, against one thread that does
  /// half of that; divided by what a loop that only counts gains in the same way, because a machine may not grant two
  /// processors.
  ///
  /// Threads that observe one pending future and remove their observation, at once, against threads that do the same to a list of
  /// closures that a `Mutex` guards.
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

  /// So many threads of the system, each of which does a thing 1,000 times.
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
