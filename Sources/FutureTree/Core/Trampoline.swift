#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What a thread still has to tell, in the order in which it happened.
///
/// Whoever completes a future on a thread that is telling already only adds to the list. So a chain of any length is
/// told by one loop (law 20), and a completion inside a callback returns before its consumers hear of it (law 19).
final class Trampoline {
  private enum Entry {
    /// A future has ended: its waiters take their turns.
    case tell(Node)
    /// One entry takes its turn.
    case turn(Waiter, Node, Waiter.Turn)
    /// A handler is freed. It may hold the promise of the next future, and so on.
    case release(HandlerList.Entry)
    /// It was taken out. Nothing is freed while `entries` changes: a `deinit` of a user may come back here.
    case taken
  }

  private var entries: [Entry] = []
  private var head = 0
  private var isActive = false
  /// The future whose waiters are being told.
  private var telling: Node?
  /// The entry whose turn it is, and those in whose turns that one is.
  private var current: Waiter?
  private var outer: [Waiter] = []

  /// Tells the waiters of a future that has ended: now, or when the callback that this thread is in is done.
  static func tell(_ node: Node) {
    if node.state.isLogged { node.recordEnd() }
    ofThread.add(.tell(node))
  }

  /// Lets one entry take its turn: now, or when the callback that this thread is in is done.
  static func turn(of entry: Waiter, upstream: Node, _ turn: Waiter.Turn) {
    ofThread.add(.turn(entry, upstream, turn))
  }

  /// Lets one entry take its turn at once, also inside a callback. What it completes is told as always.
  static func turnNow(of entry: Waiter, upstream: Node, _ turn: Waiter.Turn) {
    let trampoline = ofThread
    run { trampoline.nested { trampoline.take(turn, of: entry, upstream: upstream) } }
  }

  /// Frees a handler: now, or when the callback that this thread is in is done.
  static func release(_ handler: HandlerList.Entry) {
    ofThread.add(.release(handler))
  }

  /// Runs code of a user, and then tells what it completed.
  static func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    LockRule.assertNoLockIsHeld()
    let trampoline = ofThread
    guard !trampoline.isActive else { return try body() }
    trampoline.isActive = true
    defer {
      trampoline.drain()
      trampoline.isActive = false
    }
    return try body()
  }

  private func add(_ entry: Entry) {
    LockRule.assertNoLockIsHeld()
    entries.append(entry)
    guard !isActive else { return }
    isActive = true
    drain()
    isActive = false
  }

  private func drain() {
    while head < entries.count {
      let entry = entries[head]
      entries[head] = .taken
      head += 1
      if head > 1_000, head * 2 > entries.count {
        entries.removeSubrange(..<head)
        head = 0
      }
      take(entry)
    }
    entries.removeAll(keepingCapacity: entries.capacity <= 1_000)
    head = 0
  }

  private func take(_ entry: Entry) {
    switch entry {
    case .tell(let node):
      let outer = telling
      telling = node
      tellWaiters(of: node)
      telling = outer
    case .turn(let waiter, let upstream, let turn):
      take(turn, of: waiter, upstream: upstream)
    case .release(let handler):
      handler.release()
    case .taken:
      break
    }
  }

  private func tellWaiters(of node: Node) {
    while let waiter = node.takeWaiter() { take(.upstreamEnded, of: waiter, upstream: node) }
  }

  private func take(_ turn: Waiter.Turn, of waiter: Waiter, upstream: Node) {
    current = waiter
    if waiter.step(waiter, upstream, turn), let ended = waiter.owner {
      if ended.state.isLogged { ended.recordEnd() }
      entries.append(.tell(ended))
    }
    current = nil
  }
}

// MARK: - Blocking

extension Trampoline {
  /// Runs what this thread has to tell before it blocks inside a callback (law 19).
  static func runPending() {
    let trampoline = ofThread
    guard trampoline.isActive else { return }
    trampoline.nested {
      if let node = trampoline.telling { trampoline.tellWaiters(of: node) }
      trampoline.drain()
    }
  }

  /// Takes turns inside the turn of the current entry.
  private func nested(_ body: () -> Void) {
    let entry = current
    if let entry { outer.append(entry) }
    body()
    if entry != nil { outer.removeLast() }
    current = entry
  }

  /// Whether this thread is in the body of a future, so that the future cannot complete while the thread blocks.
  static func isInBody(of node: Node) -> Bool {
    ofThread.current === node || ofThread.outer.contains { $0 === node }
  }
}

extension Trampoline {
  /// One trampoline a thread, made when the thread first needs it and freed when the thread ends.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { pointer in
      #if canImport(Darwin)
        Unmanaged<Trampoline>.fromOpaque(pointer).release()
      #else
        if let pointer { Unmanaged<Trampoline>.fromOpaque(pointer).release() }
      #endif
    }
    precondition(status == 0, "pthread_key_create failed with \(status)")
    return key
  }()

  private static var ofThread: Trampoline {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<Trampoline>.fromOpaque(pointer).takeUnretainedValue()
    }
    let trampoline = Trampoline()
    pthread_setspecific(key, Unmanaged.passRetained(trampoline).toOpaque())
    return trampoline
  }

  #if FUTURETREE_EXPLORER
    /// Puts the trampoline of another thread in the place of this one's, and returns that.
    static func exchange(with other: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      defer { pthread_setspecific(key, other) }
      return pthread_getspecific(key)
    }
  #endif
}
