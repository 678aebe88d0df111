import FutureTree
import Works

extension Row {
  /// 1,000 promises are made, their futures joined, the join observed, the promises completed in order.
  ///
  /// A consumer that joins and leaves is a `map` of a pending future, asked to cancel with `doNotForwardIfOthersWaiting`
  /// while n other `map` of that future wait; it is compared with the same where 10 wait.
  static let joins =
    [
      Row(
        "`all` of 1,000, promises included", against: "`whenAllSucceed`", ours: OurWorks.all1000,
        theirs: NIOWorks.all1000)
    ]
    + [(1000, "1,000"), (1_000_000, "1,000,000")].map { count, text in
      Row(
        "join and leave a future with \(text) others", against: "the same with 10", .timesTheCost,
        ours: joinAndLeave(others: count), theirs: joinAndLeave(others: 10))
    }

  private static func joinAndLeave(others: Int) -> Work {
    let crowd = Crowd(of: others)
    return Work("consumer", operations: 1000) { repetitions in
      let future = crowd.future
      return timed {
        for _ in 0..<(repetitions * 1000) {
          future.map { $0 &+ 1 }.cancel(.doNotForwardIfOthersWaiting)
        }
      }
    }
  }

  /// A pending future with so many consumers. It is made when it is needed.
  private final class Crowd: @unchecked Sendable {  // Because: works are run by one thread, one after the other.
    private let promise = Promise<Int>()
    private let count: Int

    init(of count: Int) {
      self.count = count
    }

    private(set) lazy var future = {
      let future = promise.future
      for _ in 0..<count { future.map { $0 &+ 1 } }
      return future
    }()
  }
}
