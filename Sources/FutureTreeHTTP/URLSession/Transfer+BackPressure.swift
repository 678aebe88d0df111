#if canImport(Darwin)
  import Dispatch
  import Foundation
  import FutureTree

  extension Transfer {
    /// Suspends the task until the reader of its stream has read. On Linux, a suspended task would begin its request again.
    func pause(until room: Future<Void>) {
      guard let task = task.value else { return }
      queues.commands.async { task.suspend() }
      room.observe { [queues] _ in queues.commands.async { task.resume() } }
    }
  }
#endif
