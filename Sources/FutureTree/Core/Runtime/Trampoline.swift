/// The pending work of one thread, in the order in which it was added: waiters to notify, turns, and objects to call.
///
/// Code that ends a future on a thread whose trampoline is active only adds to the queue. One loop therefore notifies a chain
/// of any length, by law 20 (any depth). A completion inside a callback returns before its consumers are notified, by law 19
/// (no user code under a lock).
final class Trampoline {
  @exclusivity(unchecked) private var queue = WorkQueue()
  /// Whether a loop on this thread takes work from the queue.
  @exclusivity(unchecked) private var isActive = false
  /// The future whose waiters are being notified. The notifying loop retains it.
  @exclusivity(unchecked) private var notifying: Unmanaged<Node>?
  @exclusivity(unchecked) private var turns = TurnStack()

  // MARK: - Adding

  /// Notifies the waiters of a future that has ended: now, or when the current callback of this thread has returned.
  @inline(__always)
  static func notify(_ node: Node) {
    guard node.finishEnd() else { return }
    LockRule.assertNoLockIsHeld()
    notifyWaiters(of: node)
  }

  @inline(never)
  private static func notifyWaiters(of node: Node) {
    ofThread._withUnsafeGuaranteedRef { trampoline in
      guard !trampoline.isActive else { return trampoline.queue.append(.passRetained(node)) }
      trampoline.isActive = true
      trampoline.notifyWaiters(of: node)
      if !trampoline.queue.isEmpty { trampoline.drain() }
      trampoline.isActive = false
    }
  }

  /// Gives an entry its turn: now, or when the current callback of this thread has returned.
  static func turn(of entry: Waiter, upstream: Node, _ turn: Node.Turn) {
    add(.turn(.passRetained(entry), upstream: .passRetained(upstream), turn))
  }

  /// Gives an entry its turn at once, even inside a callback, and releases the entry. Futures that the turn completes are
  /// notified as usual.
  static func turnNow(of entry: Unmanaged<Waiter>, upstream: Node, _ turn: Node.Turn) {
    let trampoline = ofThread.takeUnretainedValue()
    run { trampoline.nested { trampoline.take(turn, of: entry, upstream: upstream) } }
  }

  /// Calls an object: now, or when the current callback of this thread has returned.
  static func call(_ entry: ListEntry) {
    add(.call(.passRetained(entry)))
  }

  /// Runs user code, and then notifies the waiters of the futures that it completed.
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

  private static func add(_ work: WorkQueue.Work) {
    LockRule.assertNoLockIsHeld()
    let trampoline = ofThread.takeUnretainedValue()
    trampoline.queue.append(work)
    guard !trampoline.isActive else { return }
    trampoline.isActive = true
    trampoline.drain()
    trampoline.isActive = false
  }

  // MARK: - The loop

  private func drain() {
    while true {
      while let node = queue.takeChained() { notifyWaiters(ofRetained: node) }
      guard let work = queue.popFirst() else { break }
      switch work {
      case .notify(let node):
        notifyWaiters(ofRetained: node)
      case .turn(let entry, let upstream, let turn):
        take(turn, of: entry, upstream: upstream.takeRetainedValue())
      case .call(let entry):
        entry.takeRetainedValue().runDeferred()
      }
    }
    queue.trim()
  }

  @inline(__always)
  private func notifyWaiters(ofRetained node: Unmanaged<Node>) {
    node._withUnsafeGuaranteedRef { notifyWaiters(of: $0) }
    node.release()
  }

  @inline(__always)
  private func notifyWaiters(of node: Node) {
    let outer = notifying
    notifying = Unmanaged.passUnretained(node)
    let hasSucceeded = node.state.phase == .succeeded
    if node.state.isObserved { node.callFirstObserver() }
    while let entry = node.takeWaiter() {
      turns.current = entry
      let hasFutureEnded = entry._withUnsafeGuaranteedRef { waiter -> Bool in
        guard waiter.isFuture else {
          if waiter.step(waiter, node, .run), let ended = waiter.owner { hasEnded(ended) }
          return false
        }
        let waiter = unsafeDowncast(waiter, to: Node.self)
        return waiter.upstreamEnded(node, hasSucceeded: hasSucceeded) && waiter.finishEnd()
      }
      turns.current = nil
      if hasFutureEnded {
        queue.append(Unmanaged<Node>.fromOpaque(entry.toOpaque()))
      } else {
        entry.release()
        if turns.link != nil { linkInner() }
      }
    }
    notifying = outer
  }

  /// Records that a future has ended in a turn. Its waiters are notified after that turn.
  private func hasEnded(_ node: Node) {
    if node.finishEnd() { queue.append(.passRetained(node)) }
  }

  private func take(_ turn: Node.Turn, of entry: Unmanaged<Waiter>, upstream: Node) {
    turns.current = entry
    entry._withUnsafeGuaranteedRef { waiter in
      let hasOwnerEnded =
        waiter.isFuture
        ? unsafeDowncast(waiter, to: Node.self).take(turn, of: upstream) : waiter.step(waiter, upstream, .run)
      if hasOwnerEnded, let ended = waiter.owner { hasEnded(ended) }
    }
    turns.current = nil
    entry.release()
    if turns.link != nil { linkInner() }
  }

  // MARK: - Linking after a turn

  /// Defers linking a future to the inner future that its body returned until its turn is over and no frame of the turn retains
  /// it. Returns false if this is not the turn of that future, or if a link is already deferred.
  static func linkAfterTurn(of node: Node, to inner: Node) -> Bool {
    let trampoline = ofThread.takeUnretainedValue()
    guard trampoline.turns.link == nil, trampoline.turns.isCurrent(node) else { return false }
    trampoline.turns.link = (node, inner)
    return true
  }

  @inline(never)
  private func linkInner() {
    guard var link = turns.link.take() else { return }
    if let ended = Node.linkOrBypass(&link.node, to: link.inner) { hasEnded(ended) }
  }

  // MARK: - Blocking

  /// Runs the pending work of this thread before it blocks inside a callback. Law 19 (no user code under a lock).
  static func runPending() {
    let trampoline = ofThread.takeUnretainedValue()
    guard trampoline.isActive else { return }
    trampoline.nested {
      if let node = trampoline.notifying { trampoline.notifyWaiters(of: node.takeUnretainedValue()) }
      trampoline.drain()
    }
  }

  /// Runs a closure that takes turns inside the turn of the current entry.
  private func nested(_ body: () -> Void) {
    let entry = turns.beginNested()
    body()
    turns.endNested(in: entry)
  }

  /// Returns whether this thread runs the body of a future. Such a future cannot complete while the thread blocks.
  static func isInBody(of node: Node) -> Bool {
    ofThread.takeUnretainedValue().turns.contains(node)
  }
}

extension FutureExecutor {
  /// Runs a closure on this thread, and then notifies the waiters of the futures that it completed.
  @usableFromInline func run(_ body: @escaping Job) {
    LockRule.assertNoLockIsHeld()
    guard let target else { return Trampoline.run(body) }
    target.submit { Trampoline.run(body) }
  }
}
