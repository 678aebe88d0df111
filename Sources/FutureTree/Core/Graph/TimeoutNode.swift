/// A future with the outcome of its upstream, which a timer may end first.
///
/// The node holds its timer. An observer that cancels the timer would need two more heap blocks.
@usableFromInline
final class TimeoutNode: Node, @unchecked Sendable {  // Because: `lock` guards `timer`.
  /// `nil` before it is set and after it was taken. The thread that takes it cancels it, after this future has ended or expired.
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

  /// Stores the timer to cancel when this future ends. Cancels it now if this future has ended.
  func set(_ timer: FutureTimer) {
    let isPending = lock.withLock {
      guard state.isPending else { return false }
      self.timer = timer
      return true
    }
    if !isPending { Trampoline.run { timer.cancel() } }
  }

  /// Cancels the timer. Called after this future has ended: by `Expiry.expire`, or by its step in place of releasing a body.
  @usableFromInline func cancelTimer() {
    let timer = lock.withLock {
      defer { self.timer = nil }
      return self.timer
    }
    timer?.cancel()
  }
}
