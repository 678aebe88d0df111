#if canImport(Darwin)
  import Dispatch
  import Foundation
  import FutureTree

  extension Transfer {
    /// Suspends the task until the reader of its stream has read. On Linux, a suspended task would begin its request again.
    func pause(until room: Future<Void>) {
      guard let task = task.value else { return }
      state.withLock { $0.paused() }
      queues.commands.async { task.suspend() }
      room.observe { [self] _ in
        let now = now
        state.withLock { $0.resumed(now: now) }
        queues.commands.async { task.resume() }
      }
    }
  }
#endif
