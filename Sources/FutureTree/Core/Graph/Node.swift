/// A future without its type: a node of the graph. This header explains the core.
///
/// # Model
/// A node has a state (`FutureState`), a list of *waiters*, and room for one outcome. A waiter is a derived future, a slot of a
/// join, an observer, or an awaiting task. A waiter with interest in the value counts as a *consumer*. A derived future is its
/// own entry in the list of its upstream, so that a link of a chain is one object.
///
///     promise ── fulfills ──▶ Source                       let source = promise.future
///                             │ waiters  ▲ upstream
///                             ▼          │
///                             MapNode ───┘                 let mapped = source.map { … }
///                             │ waiters  ▲ upstream
///              ┌──────────────┼──────────┼─────┐
///              ▼              ▼          │     ▼
///              observer       FlatMapNode      Join.Slot   mapped.observe { … }, mapped.flatMap { … }, all(mapped, other)
///
/// Lists retain their entries. `upstream` is not retained. `FlatMapNode` changes its upstream once, to the inner future that its
/// body returned. A `Join` has one slot for each input, and each slot is an entry in the list of its input.
///
/// # Invariants
/// 1. While a future is pending, `lock` guards `state`, `waiters`, `details` and the `upstream` in `storage`. Once it has ended,
///    `state` and `storage` never change and are read without the lock. `waiters` then belongs to the thread that ended it.
///    Code that changes the state therefore checks `isPending` first.
/// 2. A pending future is retained by the object that will complete it: its promise, the list of its upstream, or the job of
///    an executor. A future does not retain its upstream. While `upstream` is set, the upstream is alive, because it removes
///    this entry from its list, and clears `upstream` under this lock, before it can be deallocated. So there is no reference
///    cycle, and the loop that notifies a chain releases it link by link.
/// 3. Code that sets `upstream` to `nil` removes this entry from the list of that upstream, unless the upstream has ended.
/// 4. A thread holds one lock at most. No user code runs under a lock: neither a body, a handler, a clock or an executor nor a
///    `deinit`. Objects whose release can run a `deinit` leave a locked section alive.
///
/// # Why locks cannot deadlock
/// By invariant 4 no thread waits for a lock while it holds one. A step that concerns two nodes locks the first, unlocks it, and
/// then locks the second. Another thread may run in between, so that each step checks the state again. Linking enters the list of
/// the inner future first and sets `upstream` second: a thread that sees `upstream` can rely on the entry in the list. Debug
/// builds assert the rule (`LockRule`), and the explorer of the tests runs all schedules of a few threads.
///
/// # The path of a value
/// 1. `Promise.succeed` ends its `Source` under the lock: `FutureState.end` decides, `ValueStorage` has the value.
/// 2. `Trampoline.notify` takes the waiters out of the list, one after the other, and calls the `step` of each.
/// 3. The step is a closure without captures, made where the types are known. It runs the body, ends the derived future with the
///    result, and returns whether that has ended. Then its waiters are next. The loop replaces recursion (law 20, any depth).
///
/// # The path of a request
/// 1. `Future.cancel` calls `CancellationPropagation.run`. It visits futures upstream, each once and after all futures that wait
///    for it (`TopologicalOrder`). At each, `Node.receive` asks `FutureState.receive` under the lock: does the request stop here
///    because of other consumers, is it a duplicate, does it end the future, or is it forwarded?
/// 2. Branches that only the requester had interest in end.
/// 3. Handlers of sources are called, those furthest upstream first. Then the waiters of all futures that have ended are
///    notified, and the receipt is returned.
@usableFromInline
class Node: Waiter, @unchecked Sendable {  // Because: see invariant 1.
  /// Whether `storage` has a value that must be destroyed: not one that is plain bits, as an `Int` is.
  @exclusivity(unchecked) final var ownsValue = false
  final let lock = Lock()
  @exclusivity(unchecked) final var state: FutureState
  @exclusivity(unchecked) final var waiters = WaiterList()
  /// What it waits for while it is pending; then the value, the error or the reason, by the phase of `state`.
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

  @usableFromInline init(createdBy: Operator, executor: FutureExecutor = .immediate, step: @escaping Step) {
    state = FutureState(createdBy: createdBy)
    if !executor.isImmediate { details = Details(executor: executor) }
    super.init(isFuture: true, step: step)
    SchedulingPoint.countNodes(1)
  }

  /// A future that has succeeded from the start. The caller writes the value.
  @usableFromInline init(succeededOwning ownsValue: Bool, step: @escaping Step) {
    state = .succeeded
    self.ownsValue = ownsValue
    super.init(isFuture: true, step: step)
    SchedulingPoint.countNodes(1)
  }

  deinit {
    SchedulingPoint.countNodes(-1)
    switch state.phase {
    case .succeeded: if ownsValue { _ = step(self, self, .destroyValue) }
    case .failed: storage.destroy(as: (any Error).self)
    case .cancelled: storage.destroy(as: CancellationReason.self)
    case .waiting, .queued, .running, .linked: break
    }
  }

  override final var owner: Node? { self }

  /// The line that made its promise or, where it has none, that gave it its name. Called under the lock.
  var place: CodeLocation? { details?.place }

  /// What it waits for, if that is one future: see invariant 2. Called under the lock.
  final var upstream: Unmanaged<Node>? {
    get { state.isPending ? storage.reference.map { Unmanaged.fromOpaque($0) } : nil }
    set { if state.isPending { storage.reference = newValue.map { $0.toOpaque() } } }
  }

  /// What this future waits for now, each with the entry that stands in its list. Called under the lock.
  var waitsFor: TinyArray<Link> {
    TinyArray(upstream.map { Link(node: $0.takeUnretainedValue(), entry: self) })
  }

  /// Whether it waits for so many that nobody looks at all of them to find a circle. Called under the lock.
  var hasManyInputs: Bool { false }

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

  /// Stops waiting for anything, as it has ended; by invariant 3 the caller leaves the lists. Called under the lock. What it
  /// waited for was written over by the outcome.
  func letGo() {}

  /// One edge of the tree.
  struct Link {
    let node: Node
    let entry: Waiter
  }
}
