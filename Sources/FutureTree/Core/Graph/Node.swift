/// A future without its type: its lock, its life, what waits for it, and what came of it.
///
/// # Invariants
/// 1. `state`, `waiters`, `details` and the `upstream` in `storage` are guarded by `lock` while the future is pending. Once
///    it has ended, `state` and `storage` are read without it, so nobody begins to change them (not even in vain: look at
///    `isPending` first), and `waiters` belongs to the thread that ended it.
/// 2. A pending future is held by whoever will complete it: its promise, the list of its upstream, an executor's job.
///    So a future does not retain its upstream: while `upstream` is set, the upstream is alive, because it takes this
///    entry out of its list, and clears `upstream` under this lock, before it can be freed. Nothing is a cycle, and
///    releasing a chain is the loop that tells it.
/// 3. Whoever sets `upstream` to nil takes this entry out of that upstream's list, unless the upstream has ended.
/// 4. Nobody holds two locks. What can have a `deinit` of a user's leaves a locked section alive.
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
