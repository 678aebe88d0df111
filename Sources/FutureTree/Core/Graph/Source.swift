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
