/// A handler that was installed on a source: it is called or taken out, at most once ever (law 9).
///
/// A subclass has the handler with its type, and releases it in the step.
@usableFromInline
class HandlerEntry: ListEntry, @unchecked Sendable {  // Because: `lock` guards `source`, see `step`.
  /// Calls the handler with a request or, without one, releases it: a closure without captures, made where the types are known.
  @usableFromInline
  typealias Step = @Sendable (_ entry: HandlerEntry, _ source: Source, _ request: CancelRequest?) -> Void

  private let lock = Lock()
  /// Nil once the handler was called or taken out: the thread that takes it owns the handler. A handle of the entry keeps nothing alive after that.
  @exclusivity(unchecked) private final var source: Source?
  private final let step: Step
  private final let executor: FutureExecutor

  @usableFromInline init(of source: Source, on executor: FutureExecutor, step: @escaping Step) {
    self.source = source
    self.executor = executor
    self.step = step
  }

  /// Calls the handler, unless it was taken out.
  final func call(_ request: CancelRequest) {
    if executor.isImmediate {
      if let source = take() { Trampoline.run { step(self, source, request) } }
    } else {
      executor.run { [self] in
        if let source = take() { step(self, source, request) }
      }
    }
  }

  /// The same in a propagation, which notifies the waiters of what the handler completes.
  final func callInPropagation(_ request: CancelRequest) {
    guard executor.isImmediate else { return call(request) }
    LockRule.assertNoLockIsHeld()
    if let source = take() { step(self, source, request) }
  }

  /// Takes the handler out of its source, unless it was called.
  final func remove() {
    guard let source = take() else { return }
    source.uninstall(self)
    step(self, source, nil)
  }

  /// Releases handlers. One may hold the promise of the next future, and so on, so that a loop does it.
  @inline(__always)
  static func release(_ entries: inout LinkedList<HandlerEntry>) {
    while let entry = entries.popLast() { Trampoline.call(entry) }
  }

  /// Releases the handler.
  override final func runDeferred() {
    if let source = take() { step(self, source, nil) }
  }

  private func take() -> Source? {
    lock.withLock { source.take() }
  }
}
