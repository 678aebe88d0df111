import FutureTree
import Works

extension Row {
  /// Makes 1,000 promises, joins their futures, observes the join, and completes the promises in order.
  ///
  /// Another row adds and removes a consumer: a `map` of a pending future, cancelled with `doNotForwardIfOthersWaiting` while n
  /// other `map` of that future wait. The peer is the same work with 10 others.
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

  /// A pending future with `count` consumers, made when it is first needed.
  private final class Crowd: @unchecked Sendable {  // Because: works run on one thread, one after the other.
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
