/// A future that a promise completes, with the handlers that its owner installed.
@usableFromInline
final class Source: Node, @unchecked Sendable {  // Because: `lock` guards `handlers`.
  @exclusivity(unchecked) private var handlers = LinkedList<HandlerEntry>()

  @usableFromInline override init(createdBy: Operator, executor: FutureExecutor, step: @escaping Step) {
    super.init(createdBy: createdBy, executor: executor, step: step)
  }

  /// Whether its promise was kept, as far as the thread knows that drops the promise: false says nothing. It is written by
  /// whoever keeps the promise, and so before the promise is dropped, and read by its `deinit`; hence without the lock.
  @exclusivity(unchecked) @usableFromInline var isKnownToBeFulfilled = false

  /// Keeps where its promise was made. Called before anybody else knows this future, and so without the lock: a promise may
  /// be made where another is held.
  @usableFromInline func record(_ place: CodeLocation) {
    details = Details(place: place)
  }

  /// Installs a handler, or calls it at once if a request waits for one (law 8).
  ///
  /// - Complexity: O(1).
  @discardableResult
  func install(_ handler: @escaping HandlerEntry.Body, on executor: FutureExecutor) -> HandlerEntry {
    let entry = HandlerEntry(of: self, executor: executor, handler: handler)
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
    return entry
  }

  /// How many handlers a request would call now.
  var handlerCount: Int { lock.withLock { handlers.entries.count } }

  /// - Complexity: O(1).
  func uninstall(_ entry: HandlerEntry) {
    lock.withLock { handlers.remove(entry) }
  }

  /// Calls every handler that was not called yet, the last installed first. Returns how many there were.
  ///
  /// Also of a future that has ended since it was asked: all of them run (law 9).
  func callHandlers(_ request: CancelRequest) -> Int {
    let called = lock.withLock {
      // Nobody changes the state of a future that has ended: others read it without the lock.
      if state.isPending, !handlers.isEmpty { state.isHeard = true }
      return handlers.popAllFromLast()
    }
    for entry in called { entry.call(request) }
    return called.count
  }

  /// Keeps its promise with a value, and tells of it. Returns false if the promise was kept before.
  @inlinable func fulfill<Value: Sendable>(value: Value) -> Bool {
    if let bits = ValueStorage(bitsOf: value) { return fulfill(bits: bits) }
    guard succeed(value, byPromise: true) else { return false }
    promiseWasFulfilled()
    return true
  }

  /// The same with a value that is plain bits.
  @usableFromInline func fulfill(bits: ValueStorage) -> Bool {
    var hasHandlers = false
    let isFulfilled = lock.withLock {
      hasHandlers = !handlers.isEmpty
      return end(.succeeded, byPromise: true) { $0 = bits }
    }
    guard isFulfilled else { return false }
    isKnownToBeFulfilled = true
    if hasHandlers { releaseHandlers() }
    Trampoline.notify(self)
    return true
  }

  /// Lets go of the handlers of a future that has ended.
  func releaseHandlers() {
    let released = lock.withLock { takeUnaskedHandlers() }
    HandlerEntry.release(released)
  }

  /// The handlers, but for those that a propagation is on its way to: it calls them. Called under the lock.
  func takeUnaskedHandlers() -> [HandlerEntry] {
    handlers.isEmpty || state.requests.asked != nil ? [] : handlers.popAllFromLast()
  }
}
