import FutureTree
import Works

extension Row {
  /// A source is made, one handler registered with its token, the source cancelled; against a task that is made, suspended
  /// in a cancellation handler, cancelled, and ends. Once the task runs on the pool, as tasks do, once on the thread that
  /// makes it, so that none has to be woken.
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
