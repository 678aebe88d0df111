import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

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

extension Trampoline {
  /// The key of the trampolines. Each thread has one trampoline, created when it is first needed and freed when the thread
  /// ends.
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
    knownKey.store(UInt(key) + 1, ordering: .releasing)
    return key
  }()

  /// The key plus 1, or 0 before the key is made. Each read of the key itself would call `swift_once`.
  private static let knownKey = Atomic<UInt>(0)

  static var ofThread: Unmanaged<Trampoline> {
    let known = knownKey.load(ordering: .acquiring)
    if known != 0, let pointer = pthread_getspecific(pthread_key_t(truncatingIfNeeded: known &- 1)) {
      return Unmanaged.fromOpaque(pointer)
    }
    return make()
  }

  @inline(never)
  private static func make() -> Unmanaged<Trampoline> {
    let trampoline = Unmanaged.passRetained(Trampoline())
    pthread_setspecific(key, trampoline.toOpaque())
    return trampoline
  }

  #if FUTURETREE_EXPLORER
    /// Replaces the trampoline of this thread and returns the previous one.
    static func exchange(with other: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      defer { pthread_setspecific(key, other) }
      return pthread_getspecific(key)
    }
  #endif
}

/// The pending work of a trampoline, first in, first out.
///
/// Work is plain bits: copying and releasing an enum with counted references costs more than notifying a future. The queue owns
/// one reference to each object that its work refers to. The caller of `popFirst` or `takeChained` takes over that reference.
struct WorkQueue {
  enum Work {
    /// A future has ended, and its waiters take their turns.
    case notify(Unmanaged<Node>)
    /// One entry takes its turn and is released.
    case turn(Unmanaged<Waiter>, upstream: Unmanaged<Node>, Node.Turn)
    case call(Unmanaged<ListEntry>)
  }

  /// The next work, if it is a future that has ended. A chain never needs the array.
  private var chained: Unmanaged<Node>?
  private var others: [Work] = []
  private var taken = 0

  var isEmpty: Bool { chained == nil && taken == others.count }

  mutating func append(_ work: Work) {
    others.append(work)
  }

  /// Adds a future that has ended. The queue takes over the caller's reference.
  @inline(__always)
  mutating func append(_ node: Unmanaged<Node>) {
    if isEmpty { chained = node } else { append(.notify(node)) }
  }

  @inline(__always)
  mutating func takeChained() -> Unmanaged<Node>? {
    chained.take()
  }

  /// Removes and returns the next work if no future is chained.
  mutating func popFirst() -> Work? {
    guard taken < others.count else { return nil }
    let work = others[taken]
    taken += 1
    if taken > 1_000, taken * 2 > others.count {
      others.removeSubrange(..<taken)
      taken = 0
    }
    return work
  }

  /// Releases the memory of an empty queue, unless it is small.
  mutating func trim() {
    guard taken > 0 else { return }
    others.removeAll(keepingCapacity: others.capacity <= 1_000)
    taken = 0
  }
}

/// The current turns of a thread. There are several if a callback blocks or an executor runs a job at once.
struct TurnStack {
  /// The entry whose turn it is. Like `outer`, it is retained by the loop that runs its turn.
  var current: Unmanaged<Waiter>?
  private var outer: [Unmanaged<Waiter>] = []
  /// A future and the inner future that its body returned. They are linked when the current turn is over.
  var link: (node: Node, inner: Node)?

  func isCurrent(_ node: Node) -> Bool {
    current?.toOpaque() == Unmanaged.passUnretained(node as Waiter).toOpaque()
  }

  func contains(_ node: Node) -> Bool {
    isCurrent(node) || outer.contains { $0.toOpaque() == Unmanaged.passUnretained(node as Waiter).toOpaque() }
  }

  mutating func beginNested() -> Unmanaged<Waiter>? {
    if let current { outer.append(current) }
    return current
  }

  mutating func endNested(in entry: Unmanaged<Waiter>?) {
    if entry != nil { outer.removeLast() }
    current = entry
  }
}

#if FUTURETREE_EXPLORER
  /// The per-thread state of the library. The explorer exchanges it when it switches threads.
  package struct ThreadState {
    private let trampoline: UnsafeMutableRawPointer?
    private let lockRule: UnsafeMutableRawPointer?

    /// The state of a new thread.
    package static var new: ThreadState { ThreadState(trampoline: nil, lockRule: nil) }

    /// Replaces the current state and returns it.
    package static func exchange(with state: ThreadState) -> ThreadState {
      ThreadState(
        trampoline: Trampoline.exchange(with: state.trampoline), lockRule: LockRule.exchange(with: state.lockRule))
    }
  }
#endif
