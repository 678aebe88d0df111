/// Observes one future. The core knows logs only through this class.
class NodeMonitor: @unchecked Sendable {  // Because: the lock of the future guards the variables of subclasses.
  enum Event {
    case named(String)
    /// The strongest request received, or a withheld request that takes effect in its place, and its disposition.
    case received(CancelRequest?, FutureState.Disposition?)
    /// An operator has made a future from this one. No other code can access it yet.
    case makes(Node)
    /// An entry has begun to wait for this future.
    case hasWaiter(Waiter)
    /// The future begins to wait for another.
    case waits(for: Node)
    case ends
    /// The work of a promise reports what it is doing.
    case does(String)
  }

  /// Receives an event under the lock of the future, so that the order of the calls is the order of the events.
  ///
  /// - Returns: A closure that the caller calls when it has released the lock.
  func observe(_ event: Event, of node: Node) -> Node.AfterLock? { nil }

  /// Called outside every lock after the event `ends`, by the thread that notifies the waiters.
  func finishEnd(of node: Node) {}
}

extension Node {
  /// Work that follows a change of this future. The caller does it when it has released the lock.
  typealias AfterLock = () -> Void

  /// Reports an event to the monitor, if there is one. Called under the lock. The caller calls the returned closure when it has
  /// released the lock.
  @inline(__always)
  final func report(_ event: @autoclosure () -> NodeMonitor.Event) -> Node.AfterLock? {
    state.isRare ? details?.monitor?.observe(event(), of: self) : nil
  }

  /// Reports an event outside the lock.
  @inline(never)
  final func reportNow(_ event: NodeMonitor.Event) {
    lock.withLock { report(event) }?()
  }
}
