/// A future that a promise completes, with the handlers that its owner installed.
@usableFromInline
final class Source: Node, @unchecked Sendable {  // Because: `lock` guards `handlers` and `observer`.
  @exclusivity(unchecked) private var handlers = LinkedList<HandlerEntry>()
  /// The body of the first observer: see `FirstObserver`.
  @exclusivity(unchecked) final var observer = ValueStorage()

  @usableFromInline override init(createdBy: Operator, executor: FutureExecutor, step: StoredStep) {
    super.init(createdBy: createdBy, executor: executor, step: step)
  }

  deinit {
    if observer.words.0 != 0 { removeObserver() }
  }

  /// Records the source line that created the promise. Called before other code can access this future, so it takes no lock:
  /// the caller may hold another one.
  @usableFromInline func record(_ place: CodeLocation) {
    details = Details(place: place)
  }

  /// Installs a handler. If a request is stored, the handler receives it at once. Law 8 (no request is lost).
  ///
  /// - Complexity: O(1).
  @usableFromInline func install(_ entry: HandlerEntry) {
    let (isNeeded, request): (Bool, CancelRequest?) = lock.withLock {
      guard state.phase == .waiting else { return (false, nil) }
      if let asked = state.requests.asked {
        state.isHeard = true
        return (true, asked)
      }
      handlers.append(entry)
      return (true, nil)
    }
    if !isNeeded { entry.runDeferred() }
    if let request { entry.call(request) }
  }

  /// The number of handlers that a request would call now. Called under the lock.
  var handlerCount: Int { handlers.entries.count }

  /// The futures whose work must end before the work of this source begins: see `HandlerEntry.worksAhead`.
  var worksAhead: [Node] { lock.withLock { handlers.entries.first }?.worksAhead ?? [] }

  /// - Complexity: O(1).
  func uninstall(_ entry: HandlerEntry) {
    lock.withLock { handlers.remove(entry) }
  }

  /// Calls the handlers, the last installed first. Returns the number of handlers that it called.
  ///
  /// All handlers are taken before the first call. A request that a handler sends finds no handler at this source.
  func callHandlers(_ request: CancelRequest) -> Int {
    var entries = takeCalledHandlers()
    var count = 0
    while let entry = entries.popLast() {
      count += 1
      entry.callInPropagation(request)
    }
    return count
  }

  private func takeCalledHandlers() -> LinkedList<HandlerEntry> {
    lock.withLock {
      // The state of a future that has ended must not change: other code reads it without the lock.
      if state.isPending, !handlers.isEmpty { state.isHeard = true }
      return takeHandlers()
    }
  }

  /// Takes the handlers to release them, except those that a propagation is about to call. Called under the lock.
  func takeUnaskedHandlers() -> LinkedList<HandlerEntry> {
    state.requests.asked == nil ? takeHandlers() : LinkedList()
  }

  private func takeHandlers() -> LinkedList<HandlerEntry> {
    defer { handlers = LinkedList() }
    return handlers
  }

  /// Completes the promise of this source with a value, and notifies the waiters. Returns false if the promise was completed
  /// before.
  ///
  /// Never inlined. With the branches of this method, the compiler could not free a promise on the stack without a call of the
  /// runtime.
  @inlinable @inline(never) func fulfill<Value: Sendable>(value: Value) -> Bool {
    if let bits = ValueStorage(bitsOf: value) { return fulfill(bits: bits) }
    guard succeed(value, byPromise: true) else { return false }
    promiseWasFulfilled()
    return true
  }

  /// Completes the promise of this source with a value that is plain bits, and notifies the waiters.
  @usableFromInline func fulfill(bits: ValueStorage) -> Bool {
    var released = LinkedList<HandlerEntry>()
    let isFulfilled = lock.withLock {
      guard end(.succeeded, byPromise: true, store: { $0 = bits }) else { return false }
      released = takeUnaskedHandlers()
      return true
    }
    guard isFulfilled else { return false }
    isKnownToBeFulfilled = true
    if !released.isEmpty { release(released) }
    Trampoline.notify(self)
    return true
  }

  @inline(never)
  private func release(_ handlers: LinkedList<HandlerEntry>) {
    var released = handlers
    HandlerEntry.release(&released)
  }

  /// Releases the handlers of a future that has ended.
  func releaseHandlers() {
    var released = lock.withLock { takeUnaskedHandlers() }
    HandlerEntry.release(&released)
  }
}

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

  /// If this is the handler of work that waits in a queue: the futures of the work that has the slots. They are not upstream. Law
  /// 22 (ordering is not interest).
  var worksAhead: [Node] { [] }

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

  /// Removes the handler from its source, unless it was called. Returns whether it was removed.
  final func remove() -> Bool {
    guard let source = take() else { return false }
    source.uninstall(self)
    step(self, source, nil)
    return true
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
