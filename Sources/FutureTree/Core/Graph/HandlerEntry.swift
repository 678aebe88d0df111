/// A handler that was installed on a source: it is called or taken out, at most once ever (law 9).
final class HandlerEntry: ListEntry, Deferred, @unchecked Sendable {  // Because: `lock` guards `installed`.
  typealias Body = @Sendable (Source, CancelRequest) -> Void

  private let lock = Lock()
  /// Nil once it was called or taken out. A handle of the entry keeps nothing alive after that.
  private var installed: (source: Source, handler: Body)?
  private let executor: FutureExecutor

  init(of source: Source, executor: FutureExecutor, handler: @escaping Body) {
    installed = (source, handler)
    self.executor = executor
  }

  /// Calls the handler, unless it was taken out.
  func call(_ request: CancelRequest) {
    executor.run { [self] in
      guard let (source, handler) = take() else { return }
      handler(source, request)
    }
  }

  /// Takes the handler out of its source, unless it was called.
  func remove() {
    take()?.source.uninstall(self)
  }

  /// Releases handlers. One may hold the promise of the next future, and so on, so that a loop does it.
  @inline(__always)
  static func release(_ entries: inout LinkedList<HandlerEntry>) {
    while let entry = entries.popLast() { Trampoline.call(entry) }
  }

  /// Releases the handler.
  func runDeferred() {
    _ = take()
  }

  private func take() -> (source: Source, handler: Body)? {
    lock.withLock { installed.take() }
  }
}
