/// A future with the outcome of its upstream, which a timer may end first.
///
/// It has its timer itself: an observer that cancels the timer would be two more blocks of memory.
@usableFromInline
final class TimeoutNode: Node, @unchecked Sendable {  // Because: `lock` guards `timer`.
  /// Nil before it is set, and once it was taken. Whoever takes it cancels it: the code that ended this future, or that expired it.
  @exclusivity(unchecked) private var timer: FutureTimer?

  @usableFromInline init(step: StoredStep) {
    super.init(createdBy: .timeout, executor: .immediate, step: step)
  }

  @inlinable @inline(__always)
  static func made<Value: Sendable>(of type: Value.Type) -> TimeoutNode {
    TimeoutNode(
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: TimeoutNode.self)
        return node.perform(action, with: upstream, as: Value.self) { node.cancelTimer() }
      })
  }

  /// Cancels the timer when this future ends, or now if it has ended.
  func set(_ timer: FutureTimer) {
    let isPending = lock.withLock {
      guard state.isPending else { return false }
      self.timer = timer
      return true
    }
    if !isPending { Trampoline.run { timer.cancel() } }
  }

  /// Called once this future has ended, by its step in place of releasing a body.
  @usableFromInline func cancelTimer() {
    let timer = lock.withLock {
      defer { self.timer = nil }
      return self.timer
    }
    timer?.cancel()
  }
}
