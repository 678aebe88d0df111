/// A handle that removes an observer from a future.
///
/// After the observer is called or removed, the handle retains nothing.
public struct FutureObservation: Sendable {
  private enum Target {
    case listed(Observer)
    case first(FirstObservation)
  }

  private let target: Target

  @usableFromInline init(observer: Observer) {
    target = .listed(observer)
  }

  /// Returns the handle of the first observer of a source. Where the handle is unused, the attribute lets the compiler
  /// remove the call and its two allocations.
  @usableFromInline @_effects(readonly)
  static func ofFirstObserver(of node: Node) -> FutureObservation {
    FutureObservation(target: .first(FirstObservation(of: unsafeDowncast(node, to: Source.self))))
  }

  private init(target: Target) {
    self.target = target
  }

  /// Removes the observer. If its body has not begun, it does not begin.
  ///
  /// - Returns: Whether this call removed the observer, whose body then never runs. `false` if the body has begun, or if the
  ///   observer was removed or released before.
  /// - Complexity: O(1).
  @discardableResult
  public func remove() -> Bool {
    switch target {
    case .listed(let observer): observer.end()
    case .first(let observation): observation.source?.removeObserver() ?? false
    }
  }
}

/// An entry that watches a future without interest in it.
@usableFromInline
class Observer: Waiter, @unchecked Sendable {  // Because: `lock` guards `watched` and `isQueued`, which guard the body.
  private let lock = Lock()
  /// The watched future, until this entry is notified or removed. Not retained: a future exists until it has notified its
  /// waiters.
  @exclusivity(unchecked) private var watched: Unmanaged<Node>?
  /// Whether this entry was notified and its body waits on the executor.
  @exclusivity(unchecked) private var isQueued = false
  @usableFromInline final let executor: FutureExecutor

  @usableFromInline init(of node: __shared Node, on executor: FutureExecutor, step: @escaping Step) {
    watched = Unmanaged.passUnretained(node)
    self.executor = executor
    super.init(step: step)
  }

  /// Releases the body.
  @usableFromInline func releaseBody() {}

  /// Starts to watch. Called once.
  @usableFromInline final func watch(_ node: Node) {
    if !node.attach(self, isConsumer: false) { Trampoline.turn(of: self, upstream: node, .upstreamEnded) }
  }

  /// Handles the notification. Returns whether the caller may run the body: the entry was not removed before.
  @usableFromInline final func take() -> Bool {
    lock.withLock { watched.take() != nil }
  }

  /// Handles the notification. Returns whether the caller must submit the body to its executor.
  @usableFromInline final func queue() -> Bool {
    lock.withLock {
      isQueued = watched.take() != nil
      return isQueued
    }
  }

  /// Called when the executor reaches the body. Returns whether the caller may run the body.
  @usableFromInline final func takeQueued() -> Bool {
    lock.withLock {
      defer { isQueued = false }
      return isQueued
    }
  }

  /// Removes this entry. Returns whether its body had not begun.
  final func end() -> Bool {
    if let node = lock.withLock({ watched.take()?.takeUnretainedValue() }) {
      node.detach(self)
    } else if !takeQueued() {
      return false
    }
    releaseBody()
    return true
  }
}

/// An observer whose body receives the completed node.
final class NodeObserver: Observer, @unchecked Sendable {  // Because: see `Observer`.
  @exclusivity(unchecked) private var body: (@Sendable (Node) -> Void)?

  init(of node: Node, _ body: @escaping @Sendable (Node) -> Void) {
    self.body = body
    super.init(of: node, on: .immediate) { entry, node, _ in
      let observer = unsafeDowncast(entry, to: NodeObserver.self)
      if observer.take(), let body = observer.body.take() { body(node) }
      return false
    }
    watch(node)
  }

  override func releaseBody() {
    body = nil
  }
}

/// An observer whose body receives the outcome.
@usableFromInline
final class OutcomeObserver<Value: Sendable>: Observer, @unchecked Sendable {  // Because: see `Observer`.
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Outcome<Value>) -> Void)?

  @inlinable init(
    of node: __shared Node, on executor: FutureExecutor, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) {
    self.body = body
    super.init(of: node, on: executor) { entry, node, _ in
      let observer = unsafeDowncast(entry, to: OutcomeObserver<Value>.self)
      observer.executor.isImmediate ? observer.call(with: node) : observer.submit(with: node)
      return false
    }
    watch(node)
  }

  @inlinable @inline(__always) func call(with node: Node) {
    if take(), let body = body.take() { body(node.outcome(as: Value.self)) }
  }

  @usableFromInline func submit(with node: Node) {
    guard queue() else { return }
    executor.run {
      if self.takeQueued(), let body = self.body.take() { body(node.outcome(as: Value.self)) }
    }
  }

  @usableFromInline override func releaseBody() {
    body = nil
  }
}
