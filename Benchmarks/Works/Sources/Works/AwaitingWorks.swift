import FutureTree

/// Works of one task that waits. It runs on the thread that resumes it, so that callgrind counts it.
extension OurWorks {
  static let awaiting: [Named] = [("value", value), ("continuation", continuation), ("task", cancelledTask)]

  /// Makes a promise, awaits its future, and completes the promise when the task is suspended.
  public static let value = Work("wait", operations: 1000) { repetitions in
    let slot = Slot<Promise<Int>>()
    return timed {
      ManualLoop.run { loop in
        loop.task {
          for _ in 0..<(repetitions * 1000) {
            let promise = Promise<Int>()
            slot.content = promise
            if let value = try? await promise.future.value { consume(value) }
          }
        }
      } whenIdle: {
        slot.content.take()?.succeed(1) ?? false
      }
    }
  }

  /// Does the same with a continuation in a cancellation handler: the peer of `value`.
  public static let continuation = Work("wait", operations: 1000) { repetitions in
    let slot = Slot<CheckedContinuation<Int, Never>>()
    return timed {
      ManualLoop.run { loop in
        loop.task {
          for _ in 0..<(repetitions * 1000) {
            let value = await withTaskCancellationHandler {
              await withCheckedContinuation { slot.content = $0 }
            } onCancel: {
            }
            consume(value)
          }
        }
      } whenIdle: {
        guard let continuation = slot.content.take() else { return false }
        continuation.resume(returning: 1)
        return true
      }
    }
  }

  /// Suspends a task in a cancellation handler, and cancels it: the peer of a token.
  public static let cancelledTask = Work("token", operations: 1000) {
    let loop = ManualLoop()
    for _ in 0..<1000 {
      let gate = Gate()
      let task = loop.task { await gate.wait() }
      loop.runAll()
      task.cancel()
      loop.runAll()
    }
  }

  private final class Slot<Content>: @unchecked Sendable {  // Because: all of it runs on one thread.
    var content: Content?
  }
}
