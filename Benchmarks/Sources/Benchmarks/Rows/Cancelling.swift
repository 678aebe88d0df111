import FutureTree
import Works

extension Row {
  /// Cancels three trees, which are made before the measurement:
  ///
  /// - A tree with 1,000 pending leaves, at its root. The handler of the root's promise completes it `.cancelled`.
  /// - An `all` of 1,000 pending promises. The handler of each promise completes it.
  /// - An `all` of 1,000 `map` of one source. The handler of the source completes it.
  ///
  /// The peer is a task group of 1,000 children, from `cancelAll` until all have ended. Each child is suspended in a cancellation
  /// handler that resumes it.
  ///
  /// A chain of 1,000 `map`, made before, is asked to cancel at its tail. The handler of its promise cancels it. The peers are
  /// completing such a chain, and completing a chain of `EventLoopFuture`.
  static let cancelling = [
    Row(
      "cancel a tree of 1,000 leaves", against: "a task group of 1,000", ours: OurWorks.cancelTree, theirs: taskGroup),
    Row(
      "cancel an `all` of 1,000 promises", against: "a task group of 1,000", ours: OurWorks.cancelAll,
      theirs: taskGroup),
    Row(
      "cancel an `all` of 1,000 `map` of one source", against: "a task group of 1,000",
      ours: OurWorks.cancelAllChildren,
      theirs: taskGroup),
    Row(
      "cancel a chain of 1,000 from its tail", against: "completing it", .timesTheCost, ours: OurWorks.cancelTail,
      theirs: OurWorks.completeChain),
    Row(
      "cancel a chain of 1,000 from its tail", against: "completing one of `EventLoopFuture`", .timesTheCost,
      ours: OurWorks.cancelTail, theirs: NIOWorks.completeChain),
  ]

  private static let taskGroup = Work("leaf", operations: 1000) { repetitions in
    waited {
      var total = 0.0
      for _ in 0..<repetitions { total += await cancelledTaskGroup() }
      return total
    }
  }

  private static func cancelledTaskGroup() async -> Double {
    let gates = (0..<1000).map { _ in Gate() }
    return await withTaskGroup(of: Void.self) { group in
      for gate in gates { group.addTask { await gate.wait() } }
      while !gates.allSatisfy(\.isWaitedFor) { await Task.yield() }
      let start = ContinuousClock.now
      group.cancelAll()
      await group.waitForAll()
      return (ContinuousClock.now - start).nanoseconds
    }
  }
}
