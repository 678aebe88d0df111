/// A future without its type: its lock, its life, what waits for it, and what came of it.
///
/// # Invariants
/// 1. `state`, `upstream`, `waiters` and `details` are guarded by `lock` while the future is pending. Once it has ended,
///    `state` and `storage` are read without it, so nobody begins to change them (not even in vain: look at `isPending`
///    first), and `waiters` belongs to the thread that ended it.
/// 2. A pending future is held by whoever will complete it: its promise, the list of its upstream, an executor's job.
///    So a future does not retain its upstream: while `upstream` is set, the upstream is alive, because it takes this
///    entry out of its list, and clears `upstream` under this lock, before it can be freed. Nothing is a cycle, and
///    releasing a chain is the loop that tells it.
/// 3. Whoever sets `upstream` to nil takes this entry out of that upstream's list, unless the upstream has ended.
/// 4. Nobody holds two locks. What can have a `deinit` of a user's leaves a locked section alive.
@usableFromInline
class Node: Waiter, @unchecked Sendable {  // Because: see invariant 1.
  final let lock = Lock()
  @exclusivity(unchecked) final var state: FutureState
  @exclusivity(unchecked) final var upstream: Unmanaged<Node>?
  @exclusivity(unchecked) final var waiters = WaiterList()
  /// The value, the error or the reason, by the phase of `state`.
  @exclusivity(unchecked) @usableFromInline final var storage = ValueStorage()
  @exclusivity(unchecked) final var details: Details?

  /// What few futures have.
  final class Details: Sendable {
    let name: String?
    /// The line that made it, or first gave it a name.
    let place: CodeLocation?
    let executor: FutureExecutor
    let membership: LogMembership?

    init(
      name: String? = nil, place: CodeLocation? = nil, executor: FutureExecutor = .immediate,
      membership: LogMembership? = nil
    ) {
      self.name = name
      self.place = place
      self.membership = membership
      self.executor = executor
    }
  }

  @usableFromInline init(madeBy: Operator, executor: FutureExecutor = .immediate, step: @escaping Step) {
    state = FutureState(madeBy: madeBy)
    if !executor.isImmediate { details = Details(executor: executor) }
    super.init(step: step)
    SchedulingPoint.countNodes(1)
  }

  deinit {
    SchedulingPoint.countNodes(-1)
    switch state.phase {
    case .succeeded: _ = step(self, self, .destroyValue)
    case .failed: storage.destroy(as: (any Error).self)
    case .cancelled: storage.destroy(as: CancellationReason.self)
    case .waiting, .queued, .running, .linked: break
    }
  }

  override final var owner: Node? { self }

  /// The line that made its promise or, where it has none, that gave it its name. Called under the lock.
  var place: CodeLocation? { details?.place }

  /// What this future waits for now, each with the entry that stands in its list. Called under the lock.
  var waitsFor: [Link] {
    upstream.map { [Link(node: $0.takeUnretainedValue(), entry: self)] } ?? []
  }

  /// Gives this future a name, or with nil only the place.
  final func setName(_ name: String?, at place: CodeLocation) {
    let (previous, note) = lock.withLock { () -> (Details?, LogNote?) in
      let previous = details
      details = Details(
        name: name ?? previous?.name, place: previous?.place ?? place, executor: previous?.executor ?? .immediate,
        membership: previous?.membership)
      return (previous, name.flatMap { self.note(ofName: $0) })
    }
    _ = previous  // Freed here, not under the lock.
    note?.record()
  }

  /// Stops waiting for anything; by invariant 3 the caller leaves the lists. Called under the lock.
  func letGo() {
    upstream = nil
  }

  /// One edge of the tree.
  struct Link {
    let node: Node
    let entry: Waiter
  }
}

// MARK: - Outcome

extension Node {
  /// How it ended, or nil while it is pending.
  var ending: Ending? { lock.withLock { state.ending } }

  /// - Precondition: it succeeded, and `type` is its type.
  @inlinable final func value<Value>(as type: Value.Type) -> Value { storage.load(as: type) }

  /// - Precondition: it failed.
  var error: any Error { storage.load(as: (any Error).self) }

  /// - Precondition: it was cancelled.
  var cancellationReason: CancellationReason { storage.load(as: CancellationReason.self) }

  /// - Precondition: it succeeded, and it is being freed.
  @inlinable final func destroyValue<Value>(as type: Value.Type) { storage.destroy(as: type) }

  /// - Precondition: it has ended, and `type` is its type.
  func outcome<Value: Sendable>(as type: Value.Type) -> Outcome<Value> {
    switch state.ending {
    case .succeeded: .success(value(as: type))
    case .failed: .failure(error)
    case .cancelled: .cancelled(cancellationReason)
    case nil: preconditionFailure("\(#function) of a future that is pending: only who was told may ask")
    }
  }

  /// Ends with a value. Returns false if it ended before.
  @inlinable final func succeed<Value: Sendable>(_ value: Value, byPromise: Bool = false) -> Bool {
    succeed(byPromise: byPromise) { $0.initialize(to: value, as: Value.self) }
  }

  /// The part of it that needs no type. `store` runs under the lock and writes the value.
  @usableFromInline final func succeed(byPromise: Bool, store: (inout ValueStorage) -> Void) -> Bool {
    lock.withLock { end(.succeeded, byPromise: byPromise, store: store) }
  }

  /// Ends with an error.
  func fail(_ error: any Error, byPromise: Bool = false) -> Bool {
    lock.withLock { end(.failed, storing: error, as: (any Error).self, byPromise: byPromise) }
  }

  /// Ends with what a body threw: errors that mean a cancellation end it `.cancelled` (law 15).
  @usableFromInline final func fail(throwing error: any Error) -> Bool {
    if let cancelled = error as? FutureCancelled { return cancel(cancelled.reason) }
    return error is CancellationError ? cancel(.unspecified) : fail(error)
  }

  /// Ends `.cancelled`; where no reason is given, with that of what was asked.
  func cancel(_ reason: CancellationReason, byPromise: Bool = false) -> Bool {
    lock.withLock { end(.cancelled, storing: actualReason(reason), as: CancellationReason.self, byPromise: byPromise) }
  }

  /// Ends as `upstream` did, which did not succeed.
  func pass(_ upstream: Node) -> Bool {
    lock.withLock { endLocked(as: upstream) }
  }

  /// Called under the lock.
  func endLocked(as upstream: Node) -> Bool {
    switch upstream.state.ending {
    case .failed: end(.failed, storing: upstream.error, as: (any Error).self)
    case .cancelled: end(.cancelled, storing: upstream.cancellationReason, as: CancellationReason.self)
    case .succeeded, nil: preconditionFailure("\(#function): only the typed step can pass a value on")
    }
  }

  /// Ends with a value. Called under the lock.
  func endLocked<Value: Sendable>(succeeding value: Value) -> Bool {
    end(.succeeded, storing: value, as: Value.self)
  }

  /// Ends with an error. Called under the lock.
  func endLocked(failing error: any Error) -> Bool {
    end(.failed, storing: error, as: (any Error).self)
  }

  /// Ends `.cancelled`, with the reason as it is. Called under the lock.
  func endLocked(cancelled reason: CancellationReason) -> Bool {
    end(.cancelled, storing: reason, as: CancellationReason.self)
  }

  /// Ends `.cancelled` early. Called under the lock.
  func endCancelled(_ reason: CancellationReason) -> Bool {
    end(.cancelled, storing: actualReason(reason), as: CancellationReason.self)
  }

  /// The type is named because the compiler would open an `any Error` and store what is in it.
  private func end<Stored>(
    _ ending: Ending, storing stored: Stored, as type: Stored.Type, byPromise: Bool = false
  ) -> Bool {
    end(ending, byPromise: byPromise) { $0.initialize(to: stored, as: type) }
  }

  private func end(_ ending: Ending, byPromise: Bool, store: (inout ValueStorage) -> Void) -> Bool {
    guard state.isPending, state.end(ending, byPromise: byPromise) else { return false }
    lock.pointInside()
    store(&storage)
    letGo()
    if state.isLogged { numberEnd() }
    return true
  }

  private func actualReason(_ reason: CancellationReason) -> CancellationReason {
    reason.isUnspecified ? state.requests.asked?.reason ?? reason : reason
  }

  /// Takes the next waiter of a future that has ended. Only the trampoline that tells them calls it.
  func takeWaiter() -> Waiter? {
    lock.pointWithout()
    return waiters.popFirst()
  }
}

// MARK: - Attaching

extension Node {
  /// Adds an entry to what waits for this future. Returns false, and does nothing, if it has ended.
  func attach(_ entry: Waiter, isConsumer: Bool) -> Bool {
    attach(entry, as: isConsumer ? .consumer : .observer)
  }

  /// What an entry is to the future for which it begins to wait.
  private enum Role {
    case observer, consumer
    /// A future that an operator has just made from this one.
    case newConsumer
  }

  /// What the others must hear, after the lock was released.
  private struct News: OptionSet {
    let rawValue: UInt8
    static let isWantedAgain = News(rawValue: 1)
    static let isLogged = News(rawValue: 2)
  }

  private func attach(_ entry: Waiter, as role: Role) -> Bool {
    var news: News = []
    let isPending = lock.withLock {
      guard state.isPending else { return false }
      lock.pointInside()
      waiters.append(entry)
      entry.isCounted = role != .observer
      if role != .observer, state.consumerCame() { news = .isWantedAgain }
      if state.isLogged {
        news.insert(.isLogged)
        if role == .newConsumer { shareLog(withNew: entry) }
      }
      return true
    }
    if !news.isEmpty { tell(news, of: entry, role) }
    return isPending
  }

  private func tell(_ news: News, of entry: Waiter, _ role: Role) {
    if news.contains(.isWantedAgain) { tellInterest() }
    if news.contains(.isLogged) { recordLink(from: entry, isNew: role == .newConsumer) }
  }

  /// Makes a derived future wait for this one; if this one has ended, the derived one takes its turn.
  @usableFromInline final func attachDerived(_ derived: Node) {
    derived.upstream = Unmanaged.passUnretained(self)
    if !attach(derived, as: .newConsumer) {
      derived.upstream = nil
      if state.isLogged { shareLogAfterEnd(withNew: derived) }
      Trampoline.turn(of: derived, upstream: self, .upstreamEnded)
    }
  }

  /// Takes out an entry that does not count.
  func detach(_ entry: Waiter) {
    lock.withLock {
      if state.isPending { waiters.remove(entry) }
    }
  }
}
