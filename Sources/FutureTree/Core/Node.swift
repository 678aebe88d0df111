/// The non-generic base class of all futures. This header is the model of the core. `docs/the-core.md` follows a value and a request
/// through it, and states the order of memory accesses and where something is added.
///
/// # Model
/// `Future<Value>` is a typed handle to a node. In these comments, *future* means a node. A future is *pending* until it
/// *ends*; then it has an outcome. It has a state (`FutureState`), a list of waiters, and storage for its outcome.
///
/// - A *source* is a future that a promise completes.
/// - A *derived future* is made by an operator from one *upstream*.
/// - A *join* waits for several futures, its inputs, with one *slot* for each.
/// - A *body* is the closure of an operator.
/// - An *inner future* is a future that a body returned, or onto which a promise was *sealed*.
/// - A *request* is one cancellation request, with its options and its reason. A request that stops at a future because other
///   consumers wait is *withheld* there.
/// - A *handler* is a closure that the owner of a promise installed, to receive a request.
/// - A *waiter* is an entry in the list of a future: a derived future, a sealed source, a slot of a join, an observer, an
///   awaiting task, a blocked thread, a cancel token, or an entry of a `FutureQueue`. A future is its own entry, so each link
///   of a chain is one object.
/// - A *turn* of a waiter is its reaction to the outcome, when the future that it waits for has ended.
/// - A future is *queued* while an executor has its body and has not begun it.
/// - A *consumer* is a waiter that `FutureState.consumers` counts. An observer is not a consumer.
///
/// The first observer of a source, or the first task that awaits it, needs no entry: the source stores it in two words
/// (`FirstObserver`).
///
///     Promise ─────▶ Source                    let future = promise.future
///                    │ waiters
///                    ▼
///                    MapNode                   let mapped = future.map { … }
///                    │ waiters
///         ┌──────────┼───────────┐
///         ▼          ▼           ▼
///         Observer   FlatMapNode Join.Slot     mapped.observe { … }, mapped.flatMap { … }, Future.all([mapped, other])
///                                │ join
///                                ▼
///                                Join
///
/// Each arrow retains its target. Derived futures, slots and observers have an unretained reference back to the future that
/// they wait for: `upstream`, `Slot.input` and `Observer.watched`.
///
/// Laws are the sections of the guide *Cancellation*. The first is *Requests, not commands*.
///
/// # Invariants
/// 1. While a future is pending, `lock` guards its `state`, its `waiters`, the `upstream` in `storage`, and the fields of
///    sources and joins, except `isKnownToBeFulfilled`. A `body` belongs to one thread (invariant 2 of `FutureState`). The
///    position of an entry in a list and its `isCounted` are guarded by the lock of the future that owns the list. When a
///    future has ended, its `state` and `storage` no longer change. Code that has learned of the end reads them without the
///    lock. `waiters` then belongs to the thread that notifies them. For this reason, code checks `isPending` before it changes
///    the state. The lock guards `details`, and the `observer` of a source, even after the end. `details` is written without
///    the lock only before other code knows the future.
/// 2. A pending future is retained by the object that will complete it: its promise, the list of its upstream, its slots, the
///    job of an executor, or the trampoline during its turn. `upstream` does not retain. While `upstream` is set, the upstream
///    is alive. A pending upstream is alive by this invariant. An ended upstream is alive because the thread that notifies its
///    waiters retains it until the turn of this entry is over. In that turn, or when the future ends, `upstream` is cleared.
///    Only a queued future keeps it, and the job of its body retains the upstream.
/// 3. When a future stops waiting for a pending upstream, the same thread then removes the entry from the list of that
///    upstream, unless the upstream has ended meanwhile. In between, the entry is still listed. A bypass that fails sets
///    `upstream` again instead.
/// 4. A thread holds at most one lock. Under a lock, the library calls no body, handler, clock or executor, and releases no
///    object whose `deinit` can run user code. Such an object is returned from the locked section and released after it.
/// 5. Links form no reference cycle, unless a future waits for itself in a way that `CompletedWithItself` does not detect. Six
///    cycles exist while futures are pending, and each is broken:
///    - A join and its slots, and `AllNode` and its inputs, by the end of the join.
///    - A source and its handlers, by the end of the source, by its seal, or by the call of the handler.
///    - A future and the entries of its tokens, by the end of the future or by the release of the token.
///    - A future and the timer of its linger, by the end of the future, by the timer, or by a new consumer.
///    - A future with an async body and its `BodyTask`, by the end of the task.
@usableFromInline
class Node: Waiter, @unchecked Sendable {  // Because: see invariant 1.
  /// Whether `storage` has a value that must be destroyed. False for plain bits such as an `Int`.
  @exclusivity(unchecked) final var ownsValue = false
  /// Whether `fulfill(bits:)` has completed the promise of this source. If false, other code may have completed it. The
  /// completing thread writes this before it drops its reference to the promise, and `Promise.deinit` reads it, so neither
  /// takes the lock. The field is in this class because a byte is free here: a heap block of 121 bytes for a source would be
  /// too large for the fast bins of glibc.
  @exclusivity(unchecked) @usableFromInline final var isKnownToBeFulfilled = false
  final let lock = Lock()
  @exclusivity(unchecked) final var state: FutureState
  @exclusivity(unchecked) final var waiters = LinkedList<Waiter>()
  /// While the future is pending: the reference to its upstream. Afterward: the value, the error or the reason, by the phase of
  /// `state`.
  @exclusivity(unchecked) @usableFromInline final var storage = ValueStorage()
  @exclusivity(unchecked) private final var ownedDetails: Unmanaged<Details>?

  /// Properties that few futures have. The stored reference is unmanaged: otherwise each `deinit` would release it, even if it
  /// is `nil`.
  final var details: Details? {
    @inline(__always) get { ownedDetails?.takeUnretainedValue() }
    @inline(never) set {
      let replaced = ownedDetails
      ownedDetails = newValue.map { Unmanaged.passRetained($0) }
      replaced?.release()
    }
  }

  @inline(__always) final var hasDetails: Bool { ownedDetails != nil }

  final class Details: Sendable {
    let name: String?
    /// The source line that created the future or first named it.
    let place: CodeLocation?
    let executor: FutureExecutor
    let monitor: NodeMonitor?
    let linger: Linger?
    let activity: Activity?

    /// Creates details. Values that are `nil` are those of `previous`.
    init(
      replacing previous: Details? = nil, name: String? = nil, place: CodeLocation? = nil,
      executor: FutureExecutor? = nil, monitor: NodeMonitor? = nil, linger: Linger? = nil, activity: Activity? = nil
    ) {
      self.name = name ?? previous?.name
      self.place = place ?? previous?.place
      self.executor = executor ?? previous?.executor ?? .immediate
      self.monitor = monitor ?? previous?.monitor
      self.linger = linger ?? previous?.linger
      self.activity = activity ?? previous?.activity
    }
  }

  @usableFromInline init(createdBy: Operator, executor: FutureExecutor = .immediate, step: StoredStep) {
    state = FutureState(createdBy: createdBy)
    super.init(ofNode: step)
    if !executor.isImmediate { details = Details(executor: executor) }
    SchedulingPoint.countNodes(1)
  }

  /// Creates a future that has succeeded from the start. The caller writes the value.
  @usableFromInline init(succeededOwning ownsValue: Bool, step: StoredStep) {
    state = .succeeded
    self.ownsValue = ownsValue
    super.init(ofNode: step)
    SchedulingPoint.countNodes(1)
  }

  deinit {
    SchedulingPoint.countNodes(-1)
    if hasDetails { details = nil }
    if ownsValue || state.phase.rawValue > FutureState.Phase.succeeded.rawValue { destroyOutcome() }
  }

  @inline(never)
  private func destroyOutcome() {
    switch state.phase {
    case .succeeded: _ = step(self, self, .destroyValue)
    case .failed: storage.destroy(as: (any Error).self)
    case .cancelled: storage.destroy(as: CancellationReason.self)
    case .waiting, .queued, .running, .linked: break
    }
  }

  override final var owner: Node? { self }

  /// The source line that created the promise of this future or, if it has no promise, that named it. Called under the lock.
  var place: CodeLocation? { details?.place }

  /// The future that this one waits for, if it is one future: see invariant 2. Called under the lock.
  final var upstream: Unmanaged<Node>? {
    get { state.isPending ? storage.reference.map { Unmanaged.fromOpaque($0) } : nil }
    set { if state.isPending { storage.reference = newValue.map { $0.toOpaque() } } }
  }

  /// The futures that this one waits for now, each with the entry in its list. Called under the lock.
  var waitsFor: TinyArray<Link> {
    TinyArray(upstream.map { Link(node: $0.takeUnretainedValue(), entry: self) })
  }

  /// The futures in `waitsFor`, for a future that is about to be decided. Called under the lock.
  var inputsToLeave: LeftInputs {
    let left = LeftInputs(capacity: 1)
    if let upstream { left.append(upstream, .passUnretained(self)) }
    return left
  }

  /// Whether it has too many inputs for the search for cycles. Called under the lock.
  var hasManyInputs: Bool { false }

  /// Whether an input of a join has ended, and the join has not yet taken its outcome. Called under the lock.
  var inputIsAboutToDecide: Bool { false }

  /// Gives this future a name. With `nil`, only records the source line.
  final func setName(_ name: String?, at place: CodeLocation, activity: Activity? = nil) {
    let (previous, report) = lock.withLock { () -> (Details?, Node.AfterLock?) in
      let previous = details
      details = Details(replacing: previous, name: name, place: previous?.place ?? place, activity: activity)
      return (previous, name.flatMap { self.report(.named($0)) })
    }
    _ = previous  // Released here, outside the lock.
    report?()
  }

  /// Clears the inputs of a join that has ended. By invariant 3, the code that ended it then removes the slots from their
  /// lists. Called under the lock.
  func forgetInputs() {}

  /// One edge of the tree.
  struct Link {
    let node: Node
    let entry: Waiter
  }
}

/// How entries begin to wait for a future.
extension Node {
  /// Adds an entry to the list of this future. Returns false, and does nothing, if this future has ended.
  func attach(_ entry: Waiter, isConsumer: Bool) -> Bool {
    var revocation: Node.AfterLock?
    let news: News? = lock.withLock {
      guard state.isPending else { return nil }
      lock.pointInside()
      waiters.append(entry)
      entry.isCounted = isConsumer
      if entry.isFuture { state.isInner = true }
      var news: News = state.isRare ? .isRare : []
      if isConsumer {
        if state.consumerCame() { news.insert(.isWantedAgain) }
        if news.contains(.isRare) { revocation = lingerForConsumer() }
      }
      return news
    }
    guard let news else { return false }
    revocation?()
    if news.contains(.isWantedAgain) { notifyOfInterest() }
    if news.contains(.isRare) { reportNow(.hasWaiter(entry)) }
    return true
  }

  /// The reports that are due after the lock is released.
  private struct News: OptionSet {
    let rawValue: UInt8
    static let isWantedAgain = News(rawValue: 1)
    static let isRare = News(rawValue: 2)
  }

  /// Makes a derived future wait for this one. If this one has ended, the derived future takes its turn.
  @usableFromInline final func attachDerived(_ derived: Node) {
    derived.storage.reference = Unmanaged.passUnretained(self).toOpaque()
    let isAttached = lock.withLock {
      guard state.isPending, state.oneMoreConsumer() else { return false }
      waiters.append(derived)
      derived.isCounted = true
      return true
    }
    if !isAttached { attachDerivedWithNews(derived) }
  }

  /// Completes `attachDerived` if a change must be reported or if this future has ended.
  private func attachDerivedWithNews(_ derived: Node) {
    var isWantedAgain = false
    var report: Node.AfterLock?
    var revocation: Node.AfterLock?
    let isAttached = lock.withLock {
      report = self.report(.makes(derived))
      guard state.isPending else { return false }
      waiters.append(derived)
      derived.isCounted = true
      isWantedAgain = state.consumerCame()
      if state.isRare { revocation = lingerForConsumer() }
      return true
    }
    revocation?()
    if isWantedAgain { notifyOfInterest() }
    report?()
    if !isAttached {
      derived.upstream = nil
      Trampoline.turn(of: derived, upstream: self, .upstreamEnded)
    }
  }

  /// Removes an entry that is not counted as a consumer.
  func detach(_ entry: Waiter) {
    lock.withLock {
      if state.isPending { waiters.remove(entry) }
    }
  }
}

/// How a future begins to take its outcome from an inner future.
extension Node {
  /// The relation of a future to an inner future. It decides whether the inner future receives the stored request when it is
  /// linked. Law 8 (no request is lost).
  @usableFromInline
  enum InnerRole {
    /// It receives the request.
    case work
    /// It is the answer to a request. It receives only a stronger one.
    case answer(to: CancelRequest)
    /// It cleans up after a cancellation. It receives no request.
    case cleanUp

    var isCleanUp: Bool { if case .cleanUp = self { true } else { false } }
  }

  /// Links this future to `inner`, whose outcome it takes. Returns whether this future has ended by that.
  ///
  /// - Precondition: The caller has moved the phase to `running`.
  @usableFromInline final func link(to inner: Node, as role: InnerRole) -> Bool {
    guard inner !== self else { return fail(CompletedWithItself()) }
    let (isPending, isWanted, canBeBypassed) = lock.withLock {
      (state.isPending, !state.isAbandoned, self.canBeBypassed)
    }
    guard isPending else {
      let request = lock.withLock { requestForInner(as: role) }
      if let request { CancellationPropagation.run(Signal(node: inner, request: request)) }
      if inner.isPause { inner.endPause() }
      return false
    }
    if canBeBypassed, !inner.isPause, case .work = role, Trampoline.linkAfterTurn(of: self, to: inner) { return false }
    // The entry is listed first, then `upstream` is set: code that sees `upstream` relies on the entry in the list.
    guard inner.attach(self, isConsumer: isWanted) else { return take(.upstreamEnded, of: inner) }
    return waitForInner(inner, as: role, isWanted: isWanted)
  }

  /// Performs the second part of linking, when this future is in the list of `inner`. Returns whether this future has ended.
  func waitForInner(_ inner: Node, as role: InnerRole, isWanted: Bool) -> Bool {
    var signal: Signal?
    var report: Node.AfterLock?
    let isLinked = lock.withLock {
      guard state.isPending, state.link(isCleanUp: role.isCleanUp) else {
        // This future ended early meanwhile. The future that a running body returned receives the request without the force.
        // Law 5 (force).
        signal = Signal(
          node: inner, request: requestForInner(as: role), sender: self, departure: .leaves)
        return false
      }
      upstream = Unmanaged.passUnretained(inner)
      signal = firstSignal(at: inner, from: self, request: requestForInner(as: role))
      report = self.report(.waits(for: inner))
      return true
    }
    report?()
    // Two threads that close a cycle both set their `upstream` before they search, so at least one of them finds the cycle.
    if isLinked, let cycle = inner.cycle(through: self), fail(cycle) {
      CancellationPropagation.run(Signal(node: inner, sender: self, departure: .leaves))
      return true
    }
    if let signal { CancellationPropagation.run(signal) }
    if !isWanted { notifyOfInterest() }
    return false
  }

  /// The signal to a future for which this one has just begun to wait, if one is due. Called under the lock.
  final func firstSignal(at input: Node, from entry: Waiter, request: CancelRequest?) -> Signal? {
    guard request != nil || state.isAbandoned else { return nil }
    return Signal(
      node: input, request: request, sender: entry, departure: state.isAbandoned ? .losesInterest : .stays)
  }

  /// The request that an inner future receives when it is linked. Called under the lock.
  private func requestForInner(as role: InnerRole) -> CancelRequest? {
    guard let asked = state.requests.asked, let furthest = state.requests.furthest else { return nil }
    switch role {
    case .work: return furthest.forwarded
    case .answer(let consumed):
      if furthest.isStronger(than: consumed) { return furthest.forwarded }
      return asked.isStronger(than: consumed) ? asked.forwarded : nil
    case .cleanUp: return nil
    }
  }
}

extension Node {
  /// Ends with the outcome of the inner future that a body returned, or links this future to it. Creates no `Completion`.
  @inlinable @inline(__always)
  final func resolve<Value: Sendable>(with inner: Node, as type: Value.Type) -> Bool {
    if _isPOD(type), ValueStorage.isInline(type) { return resolve(withBitsOf: inner) }
    return inner.hasSucceeded ? succeed(inner.value(as: type)) : link(to: inner, as: .work)
  }

  /// Performs `resolve(with:as:)` for a value that is plain bits.
  @usableFromInline final func resolve(withBitsOf inner: Node) -> Bool {
    guard inner.lock.withLock({ inner.state.phase == .succeeded }) else { return link(to: inner, as: .work) }
    return lock.withLock { end(.succeeded) { $0 = inner.storage } }
  }
}

/// The number of consumers of a future, and how the futures that it waits for are notified of changes. Law 10 (one consumer,
/// one count).
extension Node {
  /// The number of consumers now.
  var consumers: Int { lock.withLock { state.otherConsumers } }

  /// Removes an entry from the list, and withdraws its interest.
  final func endInterest(_ entry: Waiter) {
    if let (isAbandoned, upstream) = withdrawAtOnce(Unmanaged.passUnretained(entry), .leaves) {
      guard isAbandoned, let upstream else { return }
      CancellationPropagation.run(Signal(node: upstream, sender: self, departure: .losesInterest))
    } else {
      CancellationPropagation.run(Signal(node: self, sender: entry, departure: .leaves))
    }
  }

  /// Updates the interest of this future in its inputs, and so on up to the sources.
  ///
  /// Threads that change the interest of one future may update its upstream in a different order. Each thread checks again
  /// afterward, so the last update is right.
  func notifyOfInterest() {
    if lock.withLock({ state.isAbandoned || !state.createdBy.isJoin && upstream == nil }) { return }
    var pending = [self]
    while let node = pending.popLast() {
      guard !node.state.createdBy.onlyOrders,
        let links = node.lock.withLock({ node.state.isAbandoned ? nil : node.waitsFor })
      else { continue }
      for link in links where link.node.isWanted(by: link.entry) { pending.append(link.node) }
      if node.lock.withLock({ node.state.isAbandoned }) {
        CancellationPropagation.run(links.map { Signal(node: $0.node, sender: $0.entry, departure: .losesInterest) })
      }
    }
  }

  /// Counts a listed entry as a consumer. Returns whether it is the first after all had withdrawn.
  private func isWanted(by entry: Waiter) -> Bool {
    var revocation: Node.AfterLock?
    let isFirst = lock.withLock {
      guard state.isPending, entry.isListed, !entry.isCounted else { return false }
      entry.isCounted = true
      defer { if state.isRare { revocation = lingerForConsumer() } }
      return state.consumerCame()
    }
    revocation?()
    return isFirst
  }
}

/// Bypassing a future that only forwards an outcome, so that a recursion of `flatMap` holds one link instead of one per turn.
/// Law 21 (bounded memory).
///
/// Before the bypass, `outer` waits for `node`, whose body has just returned `inner`. Afterward `outer` waits for `inner`, and
/// `node` is released. No other code can observe the change: the thread that ends the turn of `node` has the only reference to
/// it, and only `outer.upstream` points to it.
extension Node {
  /// Links a future to the inner future that its body returned, or bypasses it. Called after the turn of `node`, when no frame
  /// of the turn retains it. Returns the future that has ended by that, if any.
  static func linkOrBypass(_ node: inout Node, to inner: Node) -> Node? {
    if let outer = node.onlyWaiter, outer.unlink(fromUnique: &node) {
      // No other thread can reach `node` now. A thread may have added a consumer or a request before it released its reference.
      if node.removeOnlyWaiter(outer) { return outer.link(to: inner, as: .work) ? outer : nil }
      let hasEnded = outer.waitForInner(node, as: .work, isWanted: true)
      precondition(!hasEnded, "`node` is pending")
    }
    // No turn is current, so that `link` does not defer it again.
    return node.link(to: inner, as: .work) ? node : nil
  }

  /// Whether this future only forwards an outcome, and has no properties that a tree snapshot shows. Called under the lock.
  var canBeBypassed: Bool {
    state.canBeBypassed && details.map { $0.name == nil && $0.place == nil } ?? true
  }

  /// The future that waits for this one, if it is the only waiter and this one can be bypassed.
  private var onlyWaiter: Node? {
    lock.withLock {
      guard canBeBypassed, let entry = waiters.only, entry.isFuture else { return nil }
      return unsafeDowncast(entry, to: Node.self)
    }
  }

  /// Stops waiting for `inner`, if the caller has its only reference. This future gives no other code a reference meanwhile.
  private func unlink(fromUnique inner: inout Node) -> Bool {
    lock.withLock {
      guard let upstream, upstream.toOpaque() == Unmanaged.passUnretained(inner).toOpaque(),
        isKnownUniquelyReferenced(&inner), state.unlink()
      else { return false }
      self.upstream = nil
      return true
    }
  }

  /// Takes `outer` out of the list, if this future can still be bypassed.
  private func removeOnlyWaiter(_ outer: Node) -> Bool {
    lock.withLock {
      guard canBeBypassed, waiters.only === outer else { return false }
      waiters.remove(outer)
      outer.isCounted = false  // `state.consumers` stays: this future is about to be freed.
      return true
    }
  }
}
