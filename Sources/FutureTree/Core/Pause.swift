/// The timer of an operator: the delay of `delayed`, or the time between two attempts of `retry`.
///
/// A pause is not upstream of its operator. It ends when the operator has stopped waiting for it, also under law 4 (this future
/// only). The operator is its only waiter, and no other code can reach it.
extension Node {
  /// Whether this future is the timer of an operator.
  final var isPause: Bool { state.createdBy == .pause }

  /// Makes signals take the general path, which calls `endPauseWithoutWaiter`. Called before other code knows this future.
  final func watchWaiter() {
    lock.withLock {
      if state.isPending { state.isRare = true }
    }
  }

  /// Ends a pause whose operator has stopped waiting. Called under the lock.
  ///
  /// - Returns: The work to do after the lock is released, if any.
  final func endPauseWithoutWaiter() -> Node.AfterLock? {
    guard isPause, state.isPending, waiters.isEmpty else { return nil }
    return { self.endPause() }
  }

  /// Cancels the timer of a pause.
  final func endPause() {
    let request = CancelRequest(options: [], reason: .of(.decided, "the operator of this timer has completed"))
    CancellationPropagation.run(Signal(node: self, request: request))
  }
}
