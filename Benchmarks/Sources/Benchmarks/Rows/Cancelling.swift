import FutureTree
import Works

extension Row {
  /// A tree whose root 1,000 pending leaves wait for is asked to cancel at the root, and the handler of the root's promise
  /// completes it `.cancelled`; an `all` of 1,000 pending promises, the handler of each of which does that; and an `all` of 1,000
  /// `map` of one source, whose handler does that; against a task group of 1,000 children, each suspended in a cancellation
  /// handler that resumes it, from `cancelAll` until all have ended. What is cancelled was made before, and is not in the figures.
  ///
  /// A chain of 1,000 `map`, made before, is asked to cancel at its tail, and cancelled by the handler of its promise;
  /// against completing such a chain, ours and theirs.
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
