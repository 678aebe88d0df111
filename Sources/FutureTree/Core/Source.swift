/// A future that a promise completes, with the handlers that its owner installed.
final class Source: Node, @unchecked Sendable {  // Because: `handlers` is guarded as `waiters` is.
  @exclusivity(unchecked) private var handlers = HandlerList()

  /// What the owner of a source does when it is asked to cancel. At most once ever (law 9).
  typealias Handler = @Sendable (Source, CancelRequest) -> Void

  /// Installs a handler, or calls it at once if a request waits for one (law 8).
  ///
  /// - Complexity: O(1).
  func install(_ handler: @escaping Handler, on executor: FutureExecutor) -> HandlerList.Entry {
    let entry = HandlerList.Entry(executor: executor, handler: handler)
    let request: CancelRequest? = lock.withLock {
      guard state.phase == .waiting else { return nil }
      if let asked = state.requests.asked { return asked }
      handlers.insert(entry)
      return nil
    }
    if let request { call(entry, request) }
    return entry
  }

  /// - Complexity: O(1).
  func uninstall(_ entry: HandlerList.Entry) {
    lock.withLock { handlers.remove(entry) }
  }

  /// Calls every handler that was not called yet, the last installed first. Returns how many there were.
  func callHandlers(_ request: CancelRequest, evenIfEnded: Bool) -> Int {
    let called = takeHandlers(evenIfEnded: evenIfEnded)
    for entry in called { call(entry, request) }
    return called.count
  }

  /// Lets go of the handlers of a future that has ended or was sealed.
  func releaseHandlers() {
    _ = takeHandlers(evenIfEnded: true)
  }

  private func takeHandlers(evenIfEnded: Bool) -> [HandlerList.Entry] {
    lock.withLock { evenIfEnded || state.phase == .waiting ? handlers.removeAll() : [] }
  }

  private func call(_ entry: HandlerList.Entry, _ request: CancelRequest) {
    entry.executor.run { [self] in entry.handler(self, request) }
  }
}

/// The handlers of one source, the last installed first. Inserting and removing are O(1); releasing is a loop.
struct HandlerList {
  private var first: Entry?

  final class Entry: @unchecked Sendable {  // Because: the links are guarded by the source's lock.
    fileprivate var next: Entry?
    fileprivate unowned(unsafe) var previous: Entry?
    fileprivate var isInstalled = false
    let executor: FutureExecutor
    let handler: Source.Handler

    init(executor: FutureExecutor, handler: @escaping Source.Handler) {
      self.executor = executor
      self.handler = handler
    }
  }

  mutating func insert(_ entry: Entry) {
    entry.next = first
    entry.isInstalled = true
    first?.previous = entry
    first = entry
  }

  /// Takes the entry out, if it is here. The caller has a reference of its own, so nothing is freed.
  mutating func remove(_ entry: Entry) {
    guard entry.isInstalled else { return }
    entry.isInstalled = false
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
