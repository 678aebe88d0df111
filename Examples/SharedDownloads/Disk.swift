import FutureTree
import Synchronization

/// A disk, played by a timer. What it has begun to write it writes to the end, whoever asks: half a file helps nobody.
final class Disk: Sendable {
  /// How many writes have begun.
  let begun = Milestones()

  private let isStuck: Bool
  /// A promise that is dropped would complete its future.
  private let stuck = Mutex<[Promise<Int>]>([])

  /// - Parameter isStuck: whether no write comes to an end.
  init(isStuck: Bool) {
    self.isStuck = isStuck
  }

  /// Returns a future of how many bytes were written.
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
