import FutureTree
import Works

extension Row {
  /// Makes a source, registers one handler with its token, and cancels the source. The peer makes a task that suspends in a
  /// cancellation handler, cancels it, and waits for its end. The task runs on the pool, as usual, or on the thread that makes
  /// it, so that no thread must be woken.
  static let tokens = [
    Row(
      "token source made, handler registered, cancelled", against: "a `Task` on the pool", ours: OurWorks.token,
      theirs: cancelledTaskOnPool),
    Row(
      "token source made, handler registered, cancelled", against: "a `Task` on this thread", ours: OurWorks.token,
      theirs: OurWorks.cancelledTask),
  ]

  private static let cancelledTaskOnPool = Work("token", operations: 1000) { repetitions in
    waited {
      let start = ContinuousClock.now
      for _ in 0..<(repetitions * 1000) {
        let gate = Gate()
        let task = Task { await gate.wait() }
        task.cancel()
        await task.value
      }
      return (ContinuousClock.now - start).nanoseconds
    }
  }
}
