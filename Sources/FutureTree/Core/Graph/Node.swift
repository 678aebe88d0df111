/// The non-generic base class of all futures. This header explains the core.
///
/// # Model
/// `Future<Value>` is a typed handle to a node. Below, *future* means a node. A future is *pending* until it *ends*: then it has
/// an outcome. It has a state (`FutureState`), a list of waiters, and storage for its outcome. A *source* is a future that a
/// promise completes. A *derived future* is one that an operator made from one *upstream*. A *join* waits for several futures,
/// its inputs, with one *slot* for each. A *body* is the closure of an operator. An *inner future* is one that a body returned,
/// or onto which a promise was *sealed*. A *handler* is a closure that a promise calls with a *request* to cancel.
///
/// A *waiter* is an entry in the list of a future: a derived future, a sealed source, a slot of a join, an observer, an awaiting
/// task, a blocked thread, a cancel token, or an entry of a `FutureQueue`. A future is its own entry, so a link of a chain is one
/// object. When a future ends, each of its waiters takes its *turn*: it reacts to the outcome. A future is *queued* while an
/// executor has its body and has not begun it. A *consumer* is a waiter that `FutureState.consumers` counts. Observers do not
/// count. The first observer of a source, or the first task that awaits it, needs no entry: the source stores it in two words
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
/// Each arrow retains its target. Derived futures, slots and observers have an unretained reference back to the future that they
/// wait for: `upstream`, `Slot.input` and `Observer.watched`.
///
/// Laws are the numbered sections of the guide *Cancellation*.
///
/// # Invariants
/// 1. While a future is pending, `lock` guards its `state`, its `waiters`, the `upstream` in `storage`, and the fields of sources
///    and joins, but for `isKnownToBeFulfilled`. A `body` belongs to one thread (invariant 2 of `FutureState`). The lock of the
///    future that an entry waits for guards the place of the entry in the list, and `isCounted`. When a future has ended, its
///    `state` and `storage` do not change any more: code that learned of the end reads them without the lock. `waiters` then
///    belongs to the thread that notifies them. So code checks `isPending` before it changes the state. The lock guards
///    `details`, and the `observer` of a source, also after the end. `details` is written without the lock only before other code
///    knows the future.
/// 2. A pending future is retained by the object that will complete it: its promise, the list of its upstream, its slots, the job
///    of an executor, or the trampoline while the future takes its turn. `upstream` does not retain. While it is set, the
///    upstream is alive: a pending one as this invariant says, and an ended one because the thread that notifies its waiters
///    retains it until the turn of this entry is over. In that turn, or when the future ends, `upstream` is cleared. Only a
///    queued future keeps it, and the job of its body retains the upstream.
/// 3. When a future stops waiting for a pending upstream, the same thread then removes the entry from the list of that upstream,
///    unless that has ended meanwhile. In between, the entry is still listed. A bypass that fails sets `upstream` again instead.
/// 4. A thread holds one lock at most. Under a lock the library calls no body, handler, clock or executor, and releases no object
///    whose `deinit` can run user code. Such an object is returned from the locked section and released after it.
/// 5. Links form no reference cycle, unless a future waits for itself in a way that `CompletedWithItself` does not detect. These
///    are cycles while they are pending: a join and its slots, `AllNode` and its inputs, a source and its handlers, a future and
///    the entries of its tokens. The end of the join breaks the first two. The end of the source, its seal, or the call of the
///    handler breaks the third. The end of the future, or the release of the token, breaks the fourth.
///
/// # Why locks cannot deadlock
/// By invariant 4 no thread waits for a lock while it holds one. An operation on two futures locks the first, unlocks it, and
/// then locks the second. Other threads may run in between, so that each part checks the state again. `Node.link` and `Join.wait`
/// first add the entry to the list and then set `upstream` or `input`, so that a thread that sees it can rely on the entry. An
/// operator sets `upstream` first, before other threads know the derived future. Debug builds assert that a thread takes no
/// second lock, and calls no user code under one (`LockRule`). With `FUTURETREE_EXPLORER`, tests run every interleaving of the
/// locked sections of small programs (`Tests/FutureTreeTests/Explorer`).
///
/// # Memory order
/// To unlock releases, to lock acquires. Two fields of the core are atomic: that of the lock (`ParkingLock`), and the key of the
/// trampolines (`Trampoline+Thread`), which stores with release and loads with acquire. The list of an upstream and `upstream`
/// publish a future to other threads, both under a lock. Handles are `Sendable`: the user's code passes them on safely. So each
/// thread that reaches a future knows what its initializer wrote. The following reads take no lock. Behind each stand its release
/// and its acquire.
///
/// 1. The thread that ended a future reads `state`, `storage`, `waiters`, and the fields of the entries. Release: the unlock of
///    each section that changed the list or an entry. Acquire: the lock under which the thread ended the future.
/// 2. An operation that came too late reads `state` and `storage`. Release: the unlock of the section that ended the future.
///    Acquire: the lock under which the operation found that out.
/// 3. A body on an executor, an awaiting task or a blocked thread reads the same. Release: submitting the job, resuming the task,
///    signalling the semaphore. Acquire: running the job, continuing, the end of the wait.
/// 4. The last slot of a join reads the `storage` of all inputs. Release: the unlock after each other slot was counted. Acquire:
///    the lock under which the last was counted.
/// 5. A propagation that ends a queued future reads, under that future's lock, the `state` and `storage` of its ended upstream.
///    Release: the unlock after the thread that knew of the end set `upstream`. Acquire: the lock of the queued future.
/// 6. The thread that took a `body` over runs or releases it (invariant 2 of `FutureState`; `Observer`). Release: the unlock
///    under which the future was published, or its body queued. Acquire: the lock under which the thread took it over.
/// 7. A `deinit` reads all fields, and `Promise.deinit` reads `isKnownToBeFulfilled`. Release: dropping a reference. Acquire: the
///    runtime's fence before `deinit`.
/// 8. `isKnownUniquelyReferenced`, in `unlink(fromUnique:)`, reads the reference count, relaxed. Release: dropping a reference.
///    Acquire: nothing. What follows reads only what the lock of that future guarded, under that lock.
/// 9. Constants, such as `step` and `state.createdBy`, are read at any time. Release: publishing the object. Acquire: reaching
///    it.
///
/// A `Trampoline` belongs to one thread: it hands nothing over. The counters of `FutureLog` are relaxed: their numbers are in the
/// order of the locked sections in which they are taken. `MemoryOrderTests` runs the lock and the reads 1, 2, 4, 7 and 8 in a
/// model of C11.
///
/// # The path of a value
/// 1. `Promise.succeed` stores the value in its source under the lock. `FutureState.end` rejects a second completion. The
///    handlers are released.
/// 2. `Trampoline.notify` calls the first observer, and then takes the waiters out of the list, one after the other. If this
///    thread is already in the loop of its trampoline, or in a callback, the source is only added to the trampoline's queue.
/// 3. Each waiter takes its turn. `FutureState.beginsAtOnce` and `passesAtOnce` decide the common cases, and `upstreamEnded` the
///    others: a derived future runs its body now, submits it to an executor, ends as its upstream did, or ends `.cancelled`. Its
///    `step` does the work that needs the types. The `step` is a closure without captures, specialized where the types are known
///    (`StoredStep`). If the body returned a future, `Node.link` adds the derived future to the list of that inner future, or
///    `Node.linkOrBypass` takes the derived future out of the chain (law 21).
/// 4. A future that has ended in its turn is added to the trampoline's queue if it has waiters. The loop goes on with the other
///    waiters, and then with the queue. No chain recurses, however long it is (law 20).
///
/// # The path of a request
/// 1. `Future.cancel` runs a `CancellationPropagation` with one `Signal`. While each future sends the signal to one other future,
///    `StraightWalk` follows it, and also performs the other phases. At a join, at a future with a monitor, or at a withheld
///    request that is delivered, `CancellationPropagation` continues. Its `walk` visits futures upstream, each after all futures
///    that wait for it and that the propagation can reach. Where paths may meet, `TopologicalOrder` orders the futures. Under the
///    lock of a future, `FutureState` decides on the request: too late, duplicate, stored already, withheld because other
///    consumers remain, or applied. `appliesAtOnce` and `withholdsAtOnce` decide the common cases. `receive` decides all cases.
///    Applied means: reach a source, forward, store the request while a body is queued or runs or cleans up, end, or skip the
///    body.
/// 2. Where the request was withheld, the futures on the way there end `.cancelled` (`prune`), also the one on which `cancel` was
///    called.
/// 3. The futures that ended in step 2, and the entries at which the request stopped, leave the lists that they are in (`leave`).
///    A future that ended in step 1 has left already: its signals have the departure `.leaves`. Then logs get their reports.
/// 4. `callHandlers` takes and calls the handlers, in the reverse order of the visits. It calls the last installed handler of a
///    source first.
/// 5. The waiters of ended futures are notified. A future that only forwarded the request stays pending until its upstream ends.
///
/// The source is locked twice between `Future.cancel` and the handler of a promise.
///
/// # Where to add something
/// An operator needs a case of `Operator`, which says on which outcomes it runs its body, and a file in `Operators`. The cases of
/// joins come from `all` on. A join over several futures calls `JoinNode.future` with what it does when an input has ended (a
/// `Verdict`: it ends, waits, or waits for another future) and, if all inputs can end without deciding, what it ends with then.
/// What it counts is in the closure. `traverse` and `retry` make slots of their own, whose inputs begin one after the other.
/// `all` has its own node, `AllNode`.
///
/// Waiting: `Node+Attaching`, `FirstObserver`. Turns: `Node+Turns`. Inner futures: `Node+Linking`, `Node+Bypassing`. Outcomes:
/// `Node+Outcome`. Consumers (law 10): `Node+Interest`. Joins: `Join`, `Node+Deciding` (law 23). Requests: `Propagation`. Where a
/// wake-up could be lost: `attach` against `end`, `waitForInner`, `Join.wait`, `Trampoline.notify`, `notifyOfInterest`,
/// `ParkingLock`.
@usableFromInline
class Node: Waiter, @unchecked Sendable {  // Because: see invariant 1.
  /// Whether `storage` has a value that must be destroyed: not one that is plain bits, as an `Int` is.
  @exclusivity(unchecked) final var ownsValue = false
  /// Whether `fulfill(bits:)` has completed the promise of this source. If false, other code may have completed it. The
  /// completing thread writes this before it drops its reference to the promise, and `Promise.deinit` reads it. So neither takes
  /// the lock. The field is here because a byte is free: the heap block of a source of 121 bytes would be too large for the fast
  /// bins of glibc.
  @exclusivity(unchecked) @usableFromInline final var isKnownToBeFulfilled = false
  final let lock = Lock()
  @exclusivity(unchecked) final var state: FutureState
  @exclusivity(unchecked) final var waiters = LinkedList<Waiter>()
  /// What it waits for while it is pending; then the value, the error or the reason, by the phase of `state`.
  @exclusivity(unchecked) @usableFromInline final var storage = ValueStorage()
  @exclusivity(unchecked) private final var ownedDetails: Unmanaged<Details>?

  /// Properties that few futures have. The compiler does not count the stored reference. Otherwise each `deinit` would release
  /// it, even if it is nil.
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
    /// The line that made it, or first gave it a name.
    let place: CodeLocation?
    let executor: FutureExecutor
    let monitor: NodeMonitor?

    init(
      name: String? = nil, place: CodeLocation? = nil, executor: FutureExecutor = .immediate,
      monitor: NodeMonitor? = nil
    ) {
      self.name = name
      self.place = place
      self.monitor = monitor
      self.executor = executor
    }
  }

  @usableFromInline init(createdBy: Operator, executor: FutureExecutor = .immediate, step: StoredStep) {
    state = FutureState(createdBy: createdBy)
    super.init(ofNode: step)
    if !executor.isImmediate { details = Details(executor: executor) }
    SchedulingPoint.countNodes(1)
  }

  /// A future that has succeeded from the start. The caller writes the value.
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

  /// The futures that `waitsFor` names, for a future that is about to be decided. Called under the lock.
  var inputsToLeave: LeftInputs {
    let left = LeftInputs(capacity: 1)
    if let upstream { left.append(upstream, .passUnretained(self)) }
    return left
  }

  /// Whether it has too many inputs for the search for cycles. Called under the lock.
  var hasManyInputs: Bool { false }

  /// Gives this future a name, or with nil only the place.
  final func setName(_ name: String?, at place: CodeLocation) {
    let (previous, report) = lock.withLock { () -> (Details?, NodeMonitor.Report?) in
      let previous = details
      details = Details(
        name: name ?? previous?.name, place: previous?.place ?? place, executor: previous?.executor ?? .immediate,
        monitor: previous?.monitor)
      return (previous, name.flatMap { self.report(.named($0)) })
    }
    _ = previous  // Freed here, not under the lock.
    report?()
  }

  /// Forgets the inputs of a join that has ended. By invariant 3 the code that ended it then removes the slots from their lists.
  /// Called under the lock.
  func forgetInputs() {}

  /// One edge of the tree.
  struct Link {
    let node: Node
    let entry: Waiter
  }
}
