/// The handle of an observer that was added to a future.
///
/// The handle keeps nothing alive after the observer was called or removed.
public struct FutureObservation: Sendable {
  private enum Target {
    case listed(Observer)
    case first(FirstObservation)
  }

  private let target: Target

  @usableFromInline init(observer: Observer) {
    target = .listed(observer)
  }

  /// Returns the handle of the first observer of a source. If the handle is not used, the attribute lets the compiler remove the
  /// call, and with it two heap blocks.
  @usableFromInline @_effects(readonly)
  static func ofFirstObserver(of node: Node) -> FutureObservation {
    FutureObservation(target: .first(FirstObservation(of: unsafeDowncast(node, to: Source.self))))
  }

  private init(target: Target) {
    self.target = target
  }

  /// Removes the observer. If its body was not called yet, it is not called any more. O(1).
  public func remove() {
    switch target {
    case .listed(let observer): observer.end()
    case .first(let observation): observation.source?.removeObserver()
    }
  }
}

/// An entry that watches a future and does not want it.
@usableFromInline
class Observer: Waiter, @unchecked Sendable {  // Because: `lock` guards `watched` and `isQueued`, and they the body.
  private let lock = Lock()
  /// What is watched, until this is told or ended. Not retained: a future is there until it has told its waiters.
  @exclusivity(unchecked) private var watched: Unmanaged<Node>?
  /// Whether this was told, and its body is on the way to its executor.
  @exclusivity(unchecked) private var isQueued = false
  @usableFromInline final let executor: FutureExecutor

  @usableFromInline init(of node: __shared Node, on executor: FutureExecutor, step: @escaping Step) {
    watched = Unmanaged.passUnretained(node)
    self.executor = executor
    super.init(step: step)
  }

  /// Lets go of the body.
  @usableFromInline func releaseBody() {}

  /// Begins to watch. Call it once.
  @usableFromInline final func watch(_ node: Node) {
    if !node.attach(self, isConsumer: false) { Trampoline.turn(of: self, upstream: node, .upstreamEnded) }
  }

  /// This was told. Returns whether the body is the caller's: it was not ended before.
  @usableFromInline final func take() -> Bool {
    lock.withLock { watched.take() != nil }
  }

  /// This was told. Returns whether its body is to be given to its executor.
  @usableFromInline final func queue() -> Bool {
    lock.withLock {
      isQueued = watched.take() != nil
      return isQueued
    }
  }

  /// The executor got to the body. Returns whether the body is the caller's.
  @usableFromInline final func takeQueued() -> Bool {
    lock.withLock {
      defer { isQueued = false }
      return isQueued
    }
  }

  final func end() {
    if let node = lock.withLock({ watched.take()?.takeUnretainedValue() }) {
      node.detach(self)
      releaseBody()
    } else if takeQueued() {
      releaseBody()
    }
  }
}

/// An observer whose body gets the node that has ended.
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

/// An observer whose body gets the outcome.
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
