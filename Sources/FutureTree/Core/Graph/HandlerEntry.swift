/// A handler that was installed on a source. It is called or removed at most once. Law 9 (handlers run).
///
/// A subclass holds the typed handler. Its step calls or releases the handler.
@usableFromInline
class HandlerEntry: ListEntry, @unchecked Sendable {  // Because: `lock` guards `source`, see `step`.
  /// A closure that calls the handler with a request, or releases it if there is no request. It has no captures, and is made
  /// where the types are known.
  @usableFromInline
  typealias Step = @Sendable (_ entry: HandlerEntry, _ source: Source, _ request: CancelRequest?) -> Void

  private let lock = Lock()
  /// `nil` after the handler was called or removed. The thread that takes the reference owns the handler. Afterward, a handle
  /// of the entry keeps nothing alive.
  @exclusivity(unchecked) private final var source: Source?
  private final let step: Step
  private final let executor: FutureExecutor

  @usableFromInline init(of source: Source, on executor: FutureExecutor, step: @escaping Step) {
    self.source = source
    self.executor = executor
    self.step = step
  }

  /// Calls the handler, unless it was called or removed.
  final func call(_ request: CancelRequest) {
    if executor.isImmediate {
      if let source = take() { Trampoline.run { step(self, source, request) } }
    } else {
      executor.run { [self] in
        if let source = take() { step(self, source, request) }
      }
    }
  }

  /// Calls the handler inside a propagation, which notifies the waiters of the futures that the handler completes.
  final func callInPropagation(_ request: CancelRequest) {
    guard executor.isImmediate else { return call(request) }
    LockRule.assertNoLockIsHeld()
    if let source = take() { step(self, source, request) }
  }

  /// Removes the handler from its source, unless it was called.
  final func remove() {
    guard let source = take() else { return }
    source.uninstall(self)
    step(self, source, nil)
  }

  /// Releases handlers in a loop: a handler may own the promise of another future, whose handlers own further promises.
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
