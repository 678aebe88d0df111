/// A future with the outcome of its upstream, which a timer may end first.
///
/// The node holds its timer. An observer that cancels the timer would need two more heap blocks. Instead, the node marks itself
/// as observed, so its step cancels the timer at the point where a first observer is called. At that point the node has ended
/// and its waiters can be notified. Law 19 (no user code under a lock): `cancel` is code of a clock.
@usableFromInline
final class TimeoutNode: Node, @unchecked Sendable {  // Because: `lock` guards `timer`.
  /// `nil` before it is set and after it is taken. The thread that takes it cancels it, after this future has ended.
  @exclusivity(unchecked) private var timer: FutureTimer?

  @usableFromInline init(step: StoredStep) {
    super.init(createdBy: .timeout, executor: .immediate, step: step)
    _ = state.observesFirst()
  }

  @inlinable @inline(__always)
  static func made<Value: Sendable>(of type: Value.Type) -> TimeoutNode {
    TimeoutNode(
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: TimeoutNode.self)
        if action == .callObserver { node.cancelTimer() }
        return node.perform(action, with: upstream, as: Value.self)
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

  /// The name of the future that this one waits for.
  var upstreamName: String? {
    guard let upstream = lock.withLock({ waitsFor.first?.node }) else { return nil }
    return upstream.lock.withLock { upstream.label }
  }

  @usableFromInline func cancelTimer() {
    let timer = lock.withLock {
      defer { self.timer = nil }
      return self.timer
    }
    timer?.cancel()
  }
}
