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
/// Whoever completes a future on a thread that is notifying already only adds to the list. So a chain of any length is
/// told by one loop (law 20), and a completion inside a callback returns before its consumers hear of it (law 19).
final class Trampoline {
  private enum Entry {
    /// A future has ended: its waiters take their turns.
    case notify(Node)
    /// One entry takes its turn, and is released.
    case turn(Unmanaged<Waiter>, Node, Waiter.Turn)
    /// A handler is freed. It may hold the promise of the next future, and so on.
    case release(HandlerList.Entry)
    /// It was taken out. Nothing is freed while `entries` changes: a `deinit` of a user may come back here.
    case taken
  }

  /// A future, and the one that its body returned.
  private struct Unlinked {
    var node: Node
    let inner: Node
  }

  /// What comes first, where that is a future: a chain never needs the list.
  @exclusivity(unchecked) private var first: Node?
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var head = 0
  @exclusivity(unchecked) private var isActive = false
  /// The future whose waiters are being told. Held by the loop that tells them, as is `current`.
  @exclusivity(unchecked) private var notifying: Unmanaged<Node>?
  /// The entry whose turn it is, and those in whose turns that one is.
  @exclusivity(unchecked) private var current: Unmanaged<Waiter>?
  @exclusivity(unchecked) private var outer: [Unmanaged<Waiter>] = []
  /// What is linked when the current turn is over.
  @exclusivity(unchecked) private var unlinked: Unlinked?

  /// Tells the waiters of a future that has ended: now, or when the callback that this thread is in is done.
  static func notify(_ node: Node) {
    if node.state.isLogged { node.recordEnd() }
    guard node.hasWaiters else { return }
    LockRule.assertNoLockIsHeld()
    ofThread._withUnsafeGuaranteedRef { trampoline in
      guard !trampoline.isActive else { return trampoline.add(node) }
      trampoline.isActive = true
      trampoline.notifyWaiters(of: node)
      trampoline.drain()
      trampoline.isActive = false
    }
  }

  /// Lets one entry take its turn: now, or when the callback that this thread is in is done.
  static func turn(of entry: Waiter, upstream: Node, _ turn: Waiter.Turn) {
    ofThread.takeUnretainedValue().add(.turn(.passRetained(entry), upstream, turn))
  }

  /// Lets one entry take its turn at once, also inside a callback, and releases the entry. Its completions are told as always.
  static func turnNow(of entry: Unmanaged<Waiter>, upstream: Node, _ turn: Waiter.Turn) {
    let trampoline = ofThread.takeUnretainedValue()
    run { trampoline.nested { trampoline.take(turn, of: entry, upstream: upstream) } }
  }

  /// Frees a handler: now, or when the callback that this thread is in is done.
  static func release(_ handler: HandlerList.Entry) {
    ofThread.takeUnretainedValue().add(.release(handler))
  }

  /// Runs code of a user, and then tells what it completed.
  static func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    LockRule.assertNoLockIsHeld()
    let trampoline = ofThread.takeUnretainedValue()
    guard !trampoline.isActive else { return try body() }
    trampoline.isActive = true
    defer {
      trampoline.drain()
      trampoline.isActive = false
    }
    return try body()
  }

  private func add(_ entry: Entry) {
    entries.append(entry)
    drainUnlessActive()
  }

  @inline(__always)
  private func add(_ node: Node) {
    if first == nil, head == entries.count {
      first = node
    } else {
      entries.append(.notify(node))
    }
  }

  private func drainUnlessActive() {
    LockRule.assertNoLockIsHeld()
    guard !isActive else { return }
    isActive = true
    drain()
    isActive = false
  }

  private func drain() {
    while true {
      notifyChain()
      guard head < entries.count else { break }
      let entry = entries[head]
      entries[head] = .taken
      head += 1
      if head > 1_000, head * 2 > entries.count {
        entries.removeSubrange(..<head)
        head = 0
      }
      take(entry)
    }
    guard head > 0 else { return }
    entries.removeAll(keepingCapacity: entries.capacity <= 1_000)
    head = 0
  }

  private func take(_ entry: Entry) {
    switch entry {
    case .notify(let node):
      notifyWaiters(of: node)
    case .turn(let waiter, let upstream, let turn):
      take(turn, of: waiter, upstream: upstream)
    case .release(let handler):
      handler.release()
    case .taken:
      break
    }
  }

  /// A loop of its own, because most often what comes next is the waiter that was told.
  private func notifyChain() {
    while let node = first.take() { notifyWaiters(of: node) }
  }

  @inline(__always)
  private func notifyWaiters(of node: Node) {
    let outer = notifying
    notifying = Unmanaged.passUnretained(node)
    guard let ending = node.state.ending else { preconditionFailure("only futures that have ended are told of") }
    while let entry = node.takeWaiter() {
      current = entry
      let next = entry._withUnsafeGuaranteedRef { waiter -> Bool in
        waiter.step(waiter, node, Trampoline.turn(of: waiter, upstream: node, ending)) && hasMore(waiter)
      }
      current = nil
      if next {
        first = unsafeDowncast(entry.takeRetainedValue(), to: Node.self)
      } else {
        entry.release()
        if unlinked != nil { linkInner() }
      }
    }
    notifying = outer
  }

  /// What an entry does when its upstream has ended: most often that is decided in one step.
  @inline(__always)
  private static func turn(of waiter: Waiter, upstream: Node, _ ending: Ending) -> Waiter.Turn {
    guard waiter.isFuture else { return .upstreamEnded }
    let node = unsafeDowncast(waiter, to: Node.self)
    if ending == .succeeded { return node.beginsAtOnce() ? .runsBody : .upstreamEnded }
    return node.passesAtOnce(upstream, ending) ? .hasPassed : .upstreamEnded
  }

  /// The owner of an entry has ended in the entry's turn. Returns whether the entry itself is what comes `first` now: then the
  /// caller gives its reference.
  @inline(__always)
  private func hasMore(_ waiter: Waiter) -> Bool {
    if waiter.isFuture {
      let ended = unsafeDowncast(waiter, to: Node.self)
      if ended.state.isLogged { ended.recordEnd() }
      guard ended.hasWaiters else { return false }
      if first == nil, head == entries.count { return true }
      entries.append(.notify(ended))
    } else if let ended = waiter.owner {
      hasEnded(ended)
    }
    return false
  }

  /// A future has ended in a turn: it is told of when that is done.
  @inline(__always)
  private func hasEnded(_ node: Node) {
    if node.state.isLogged { node.recordEnd() }
    if node.hasWaiters { add(node) }
  }

  private func take(_ turn: Waiter.Turn, of entry: Unmanaged<Waiter>, upstream: Node) {
    current = entry
    entry._withUnsafeGuaranteedRef { waiter in
      if waiter.step(waiter, upstream, turn), let ended = waiter.owner { hasEnded(ended) }
    }
    current = nil
    entry.release()
    if unlinked != nil { linkInner() }
  }

  // MARK: - Linking after a turn

  /// Links a future to the one that its body returned when its turn is over: then no frame of the turn holds it.
  /// Returns false if this is not its turn.
  static func linkAfterTurn(of node: Node, to inner: Node) -> Bool {
    let trampoline = ofThread.takeUnretainedValue()
    guard trampoline.unlinked == nil, let current = trampoline.current,
      current.toOpaque() == Unmanaged.passUnretained(node as Waiter).toOpaque()
    else { return false }
    trampoline.unlinked = Unlinked(node: node, inner: inner)
    return true
  }

  @inline(never)
  private func linkInner() {
    guard var unlinked = unlinked.take() else { return }
    if let ended = Node.link(&unlinked.node, to: unlinked.inner) { hasEnded(ended) }
  }
}

// MARK: - Blocking

extension Trampoline {
  /// Runs what this thread has to tell before it blocks inside a callback (law 19).
  static func runPending() {
    let trampoline = ofThread.takeUnretainedValue()
    guard trampoline.isActive else { return }
    trampoline.nested {
      if let node = trampoline.notifying { trampoline.notifyWaiters(of: node.takeUnretainedValue()) }
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
    let trampoline = ofThread.takeUnretainedValue()
    let entry = Unmanaged.passUnretained(node as Waiter).toOpaque()
    return trampoline.current?.toOpaque() == entry || trampoline.outer.contains { $0.toOpaque() == entry }
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

  private static var ofThread: Unmanaged<Trampoline> {
    if let pointer = pthread_getspecific(key) { return Unmanaged.fromOpaque(pointer) }
    let trampoline = Unmanaged.passRetained(Trampoline())
    pthread_setspecific(key, trampoline.toOpaque())
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

extension FutureExecutor {
  /// Runs a closure here; what it completes is told when it is done.
  @usableFromInline func run(_ body: @escaping Job) {
    LockRule.assertNoLockIsHeld()
    guard let target else { return Trampoline.run(body) }
    target.submit { Trampoline.run(body) }
  }
}
