/// An observer that was added to a future.
///
/// The handle keeps nothing alive once the observer was called or ended.
public struct Observation: Sendable {
  let observer: Observer

  /// Ends the observation: if the body was not called yet, it is not called any more. O(1).
  public func end() {
    observer.end()
  }
}

/// An entry that watches a future and does not want it.
final class Observer: Waiter, @unchecked Sendable {  // Because: `watching` is guarded by `lock`.
  private typealias Body = @Sendable (Node) -> Void

  private let lock = Lock()
  /// What is watched, and what is called; nil once it was called or ended, whichever was first.
  @exclusivity(unchecked) private var watching: (node: Node, body: Body)?
  private let executor: FutureExecutor

  /// Adds an observer. The body gets the node that has ended.
  init(of node: Node, on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Node) -> Void) {
    watching = (node, body)
    self.executor = executor
    super.init { entry, _, _ in
      let observer = unsafeDowncast(entry, to: Observer.self)
      if observer.executor.isImmediate { observer.call() } else { observer.executor.run { observer.call() } }
      return false
    }
    if !node.attach(self, isConsumer: false) { Trampoline.turn(of: self, upstream: node, .upstreamEnded) }
  }

  private func call() {
    guard let (node, body) = take() else { return }
    body(node)
  }

  func end() {
    take()?.node.detach(self)
  }

  private func take() -> (node: Node, body: Body)? {
    lock.withLock { watching.take() }
  }
}
