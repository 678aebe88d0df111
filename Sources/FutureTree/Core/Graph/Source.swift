/// A future that a promise completes, with the handlers that its owner installed.
@usableFromInline
final class Source: Node, @unchecked Sendable {  // Because: `lock` guards `handlers`.
  @exclusivity(unchecked) private var handlers = HandlerList()

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

  /// What the owner of a source does when it is asked to cancel. At most once ever (law 9).
  typealias Handler = @Sendable (Source, CancelRequest) -> Void

  /// Installs a handler, or calls it at once if a request waits for one (law 8).
  ///
  /// - Complexity: O(1).
  @discardableResult
  func install(_ handler: @escaping Handler, on executor: FutureExecutor) -> HandlerList.Entry {
    let entry = HandlerList.Entry(of: self, executor: executor, handler: handler)
    let (isNeeded, request): (Bool, CancelRequest?) = lock.withLock {
      guard state.phase == .waiting else { return (false, nil) }
      if let asked = state.requests.asked {
        state.isHeard = true
        return (true, asked)
      }
      handlers.insert(entry)
      return (true, nil)
    }
    if !isNeeded { entry.runDeferred() }
    if let request { entry.call(request) }
    return entry
  }

  /// How many handlers a request would call now.
  var handlerCount: Int { lock.withLock { handlers.count } }

  /// - Complexity: O(1).
  fileprivate func uninstall(_ entry: HandlerList.Entry) {
    lock.withLock { handlers.remove(entry) }
  }

  /// Calls every handler that was not called yet, the last installed first. Returns how many there were.
  ///
  /// Also of a future that has ended since it was asked: all of them run (law 9).
  func callHandlers(_ request: CancelRequest) -> Int {
    let called = lock.withLock {
      // Nobody changes the state of a future that has ended: others read it without the lock.
      if state.isPending, !handlers.isEmpty { state.isHeard = true }
      return handlers.removeAll()
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
    if !released.isEmpty { HandlerList.release(released) }
  }

  /// The handlers, but for those that a propagation is on its way to: it calls them. Called under the lock.
  func takeUnaskedHandlers() -> [HandlerList.Entry] {
    handlers.isEmpty || state.requests.asked != nil ? [] : handlers.removeAll()
  }
}

/// The handlers of one source, the last installed first. Inserting and removing are O(1); releasing is a loop.
struct HandlerList {
  private var first: Entry?

  var isEmpty: Bool { first == nil }

  /// - Complexity: O(n).
  var count: Int { sequence(first: first) { $0?.next }.prefix { $0 != nil }.reduce(0) { count, _ in count + 1 } }

  /// A handler, and the future it belongs to until it was called or taken out, whichever is first: a handle of it keeps
  /// nothing alive after that.
  final class Entry: Deferred, @unchecked Sendable {  // Because: the source guards the links, `lock` the rest.
    fileprivate var next: Entry?
    fileprivate unowned(unsafe) var previous: Entry?
    fileprivate var isListed = false
    private let lock = Lock()
    private var installed: (source: Source, handler: Source.Handler)?
    private let executor: FutureExecutor

    fileprivate init(of source: Source, executor: FutureExecutor, handler: @escaping Source.Handler) {
      installed = (source, handler)
      self.executor = executor
    }

    fileprivate func call(_ request: CancelRequest) {
      executor.run { [self] in
        guard let (source, handler) = take() else { return }
        handler(source, request)
      }
    }

    /// Takes the handler out.
    func remove() {
      take()?.source.uninstall(self)
    }

    /// Frees the handler.
    func runDeferred() {
      _ = take()
    }

    private func take() -> (source: Source, handler: Source.Handler)? {
      lock.withLock { installed.take() }
    }
  }

  /// A handler may hold the promise of the next future, and so on, so that they are freed by a loop.
  static func release(_ entries: [Entry]) {
    for entry in entries { Trampoline.call(entry) }
  }

  mutating func insert(_ entry: Entry) {
    entry.next = first
    entry.isListed = true
    first?.previous = entry
    first = entry
  }

  /// Takes the entry out, if it is here. The caller has a reference of its own, so nothing is freed.
  mutating func remove(_ entry: Entry) {
    guard entry.isListed else { return }
    entry.isListed = false
    if first === entry { first = entry.next } else { entry.previous?.next = entry.next }
    entry.next?.previous = entry.previous
    entry.next = nil
  }

  mutating func removeAll() -> [Entry] {
    var entries: [Entry] = []
    while let entry = first {
      remove(entry)
      entries.append(entry)
    }
    return entries
  }
}
