/// Observes one future. It is all that the core knows of logs.
class NodeMonitor: @unchecked Sendable {  // Because: the lock of the future guards what changes in a subclass.
  enum Event {
    case named(String)
    /// The strongest request received, or a withheld request that takes effect in its place, and its disposition.
    case received(CancelRequest?, FutureState.Disposition?)
    /// An operator has made a future from this one. No other code knows it yet.
    case makes(Node)
    /// An entry has begun to wait for this future.
    case hasWaiter(Waiter)
    /// The future begins to wait for another.
    case waits(for: Node)
    case ends
  }

  typealias Report = () -> Void

  /// Receives an event under the lock of the future, so that the order of the calls is the order of the events.
  ///
  /// - Returns: What the caller calls when it has released the lock.
  func observe(_ event: Event, of node: Node) -> Report? { nil }

  /// Called under no lock after the event `ends`, by the thread that notifies the waiters.
  func finishEnd(of node: Node) {}
}

extension Node {
  /// Reports an event to the monitor, if there is one. Called under the lock. The caller calls the result when it has released
  /// it.
  @inline(__always)
  final func report(_ event: @autoclosure () -> NodeMonitor.Event) -> NodeMonitor.Report? {
    state.isMonitored ? details?.monitor?.observe(event(), of: self) : nil
  }

  /// The same, not under the lock.
  @inline(never)
  final func reportNow(_ event: NodeMonitor.Event) {
    lock.withLock { report(event) }?()
  }
}
