import FutureTree
import Synchronization

/// A simulated disk. A write that has begun is never interrupted, because half a file is useless.
final class Disk: Sendable {
  /// The number of writes that have begun.
  let begun = Milestones()

  private let isStuck: Bool
  /// Kept here, because a deallocated promise would complete its future.
  private let stuck = Mutex<[Promise<Int>]>([])

  /// - Parameter isStuck: Whether no write completes.
  init(isStuck: Bool) {
    self.isStuck = isStuck
  }

  /// Returns a future of the number of bytes written.
  func write(_ bytes: Int) -> Future<Int> {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }
    if isStuck {
      stuck.withLock { $0.append(promise) }
    } else {
      _ = SystemClock().schedule(after: .milliseconds(50)) { promise.succeed(bytes) }
    }
    begun.increment()
    return promise.future
  }
}
