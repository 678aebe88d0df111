/// A handler that was installed on a source: it is called or taken out, at most once ever (law 9).
///
/// A subclass has the handler with its type, and releases it in the step.
@usableFromInline
class HandlerEntry: ListEntry, Deferred, @unchecked Sendable {  // Because: `lock` guards `source`, and the handler is of its taker.
  /// Calls the handler with a request or, without one, releases it: a closure without captures, made where the types are known.
  @usableFromInline
  typealias Step = @Sendable (_ entry: HandlerEntry, _ source: Source, _ request: CancelRequest?) -> Void

  private let lock = Lock()
  /// Nil once the handler was called or taken out. A handle of the entry keeps nothing alive after that.
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
  final func runDeferred() {
    if let source = take() { step(self, source, nil) }
  }

  private func take() -> Source? {
    lock.withLock { source.take() }
  }
}

/// The handler of a promise.
@usableFromInline
final class PromiseHandler<Value: Sendable>: HandlerEntry, @unchecked Sendable {  // Because: see `HandlerEntry`.
  @usableFromInline typealias Handler = @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>

  @exclusivity(unchecked) @usableFromInline var handler: Handler?

  @inlinable init(of source: Source, on executor: FutureExecutor, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(of: source, on: executor) { entry, source, request in
      let entry = unsafeDowncast(entry, to: PromiseHandler<Value>.self)
      guard let handler = entry.handler.take(), let request else { return }
      let received = ReceivedCancelRequest<Value>(source: source, request: request)
      if case .complete(let completion) = handler(received) {
        source.fulfill(completion, innerRole: .answer(to: request))
      }
    }
  }
}
