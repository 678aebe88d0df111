/// The non-generic base class of all futures. This header explains the core.
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
/// - A *handler* is a closure that the owner of a promise installed, to receive a cancellation *request*.
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
/// Laws are the sections of the guide *Cancellation*, in their order.
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
///
/// # Why locks cannot deadlock
/// By invariant 4, no thread waits for a lock while it holds one. An operation on two futures locks the first, unlocks it, and
/// then locks the second. Other threads may run in between, so each part checks the state again. `Node.link` and `Join.wait`
/// first add the entry to the list and then set `upstream` or `input`, so that a thread that sees the field can rely on the
/// entry. An operator sets `upstream` first, before other threads know the derived future. Debug builds assert that a thread
/// takes no second lock and calls no user code under a lock (`LockRule`). With `FUTURETREE_EXPLORER`, tests run every
/// interleaving of the locked sections of small programs (`Tests/FutureTreeTests/Explorer`).
///
/// # Memory order
/// An unlock is a release, and a lock is an acquire. Two fields of the core are atomic: the state of the lock (`ParkingLock`),
/// and the key of the trampolines (`Trampoline+Thread`), which is stored with release and loaded with acquire. The list of an
/// upstream and `upstream` publish a future to other threads, both under a lock. Handles are `Sendable`, so user code passes
/// them safely. Therefore each thread that reaches a future sees everything that its initializer wrote. The following reads
/// take no lock. Each entry names the release and the acquire that order it.
///
/// 1. The thread that ended a future reads `state`, `storage`, `waiters`, and the fields of the entries. Release: the unlock of
///    each section that changed the list or an entry. Acquire: the lock under which the thread ended the future.
/// 2. An operation that came too late reads `state` and `storage`. Release: the unlock of the section that ended the future.
///    Acquire: the lock under which the operation detected the end.
/// 3. A body on an executor, an awaiting task or a blocked thread reads the same fields. Release: submitting the job, resuming
///    the task, signalling the semaphore. Acquire: running the job, continuing, the end of the wait.
/// 4. The last slot of a join reads the `storage` of all inputs. Release: the unlock after each other slot was counted.
///    Acquire: the lock under which the last slot was counted.
/// 5. A propagation that ends a queued future reads, under that future's lock, the `state` and `storage` of its ended upstream.
///    Release: the unlock after the thread that knew of the end set `upstream`. Acquire: the lock of the queued future.
/// 6. The thread that took over a `body` runs or releases it (invariant 2 of `FutureState`; `Observer`). Release: the unlock
///    under which the future was published or its body was queued. Acquire: the lock under which the thread took over the body.
/// 7. A `deinit` reads all fields, and `Promise.deinit` reads `isKnownToBeFulfilled`. Release: dropping a reference. Acquire:
///    the fence of the runtime before `deinit`.
/// 8. `isKnownUniquelyReferenced`, in `unlink(fromUnique:)`, reads the reference count, relaxed. Release: dropping a reference.
///    Acquire: none. The following code reads only fields that the lock of that future guarded, and reads them under that lock.
/// 9. Constants, such as `step` and `state.createdBy`, are read at any time. Release: publishing the object. Acquire: reaching
///    it.
///
/// A `Trampoline` belongs to one thread, so it needs no ordering. The counters of `FutureLog` are relaxed: a number is taken
/// inside a locked section, so the numbers have the order of the sections. `MemoryOrderTests` runs the lock and the reads 1, 2,
/// 4, 7 and 8 in a model of the C11 memory model.
///
/// # The path of a value
/// 1. `Promise.succeed` stores the value in its source under the lock. `FutureState.end` rejects a second completion. The
///    handlers are released.
/// 2. `Trampoline.notify` calls the first observer, and then takes the waiters out of the list, one after the other. If this
///    thread is already in the loop of its trampoline, or in a callback, the source is only added to the queue of the
///    trampoline.
/// 3. Each waiter takes its turn. `FutureState.beginsAtOnce` and `passesAtOnce` decide the common cases, and `upstreamEnded`
///    the others. A derived future runs its body now, submits it to an executor, ends as its upstream did, or ends as
///    `.cancelled`. Its `step` does the work that needs the types. The `step` is a closure without captures, specialized where
///    the types are known (`StoredStep`). If the body returned a future, `Node.link` adds the derived future to the list of
///    that inner future, or `Node.linkOrBypass` removes the derived future from the chain, by law 21 (bounded memory).
/// 4. A future that has ended in its turn is added to the queue of the trampoline if it has waiters. The loop continues with
///    the other waiters, and then with the queue. No chain recurses, however long it is, by law 20 (any depth).
///
/// # The path of a request
/// 1. `Future.cancel` runs a `CancellationPropagation` with one `Signal`. While each future sends the signal to one other
///    future, `StraightWalk` follows it, and also performs the other phases. At a join, at a future with a monitor, or when a
///    withheld request is delivered, `CancellationPropagation` continues. Its `walk` visits futures upstream. Each future is
///    visited after all futures that wait for it and that the propagation can reach. Where paths may meet, `TopologicalOrder`
///    orders the futures. Under the lock of a future, `FutureState` decides on the request: too late, duplicate, stored
///    already, withheld because other consumers remain, or applied. `appliesAtOnce` and `withholdsAtOnce` decide the common
///    cases, and `receive` all cases. A request that is applied reaches a source, is forwarded, is stored while a body is
///    queued or runs or cleans up, ends the future, or skips the body.
/// 2. If the request was withheld, the futures on the way to the withholding future end as `.cancelled` (`prune`), including
///    the target of `cancel`.
/// 3. The futures that ended in step 2, and the entries at which the request stopped, leave the lists that they are in
///    (`leave`). A future that ended in step 1 has left already: its signals have the departure `.leaves`. Then the reports of
///    logs are delivered.
/// 4. `callHandlers` takes and calls the handlers, in the reverse order of the visits. Of one source, it calls the last
///    installed handler first.
/// 5. The waiters of ended futures are notified. A future that only forwarded the request stays pending until its upstream
///    ends.
///
/// The source is locked twice between `Future.cancel` and the handler of a promise.
///
/// # Where to add something
/// An operator needs a case of `Operator`, which defines the outcomes on which the body runs, and a file in `Operators`. The
/// cases of joins begin at `all`. A join over several futures calls `JoinNode.future` with two closures. The first returns a
/// `Verdict` when an input has ended: the join ends, waits, or waits for another future. The second is needed if all inputs can
/// end without a decision, and returns the outcome for that case. Counters live in the closures. `traverse` and `retry` make
/// their own slots, whose inputs begin one after the other. `all` has its own node, `AllNode`.
///
/// A linger is a consumer of a future by itself: `Linger`. The future of a scope is a join whose slots are not counted:
/// `ScopeNode`. Both use the general transitions, not the common cases.
///
/// Waiting: `Node+Attaching`, `FirstObserver`. Turns: `Node+Turns`. Inner futures: `Node+Linking`, `Node+Bypassing`. Outcomes:
/// `Node+Outcome`. Law 10 (one consumer, one count): `Node+Interest`. Joins: `Join`. Law 23 (deciding detaches):
/// `Node+Deciding`. Requests: `Propagation`.
///
/// A race could lose a wake-up in these places: `attach` against `end`, `waitForInner`, `Join.wait`, `Trampoline.notify`,
/// `notifyOfInterest`, `ParkingLock`.
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

    /// Creates details. Values that are `nil` are those of `previous`.
    init(
      replacing previous: Details? = nil, name: String? = nil, place: CodeLocation? = nil,
      executor: FutureExecutor? = nil, monitor: NodeMonitor? = nil, linger: Linger? = nil
    ) {
      self.name = name ?? previous?.name
      self.place = place ?? previous?.place
      self.executor = executor ?? previous?.executor ?? .immediate
      self.monitor = monitor ?? previous?.monitor
      self.linger = linger ?? previous?.linger
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

  /// Gives this future a name. With `nil`, only records the source line.
  final func setName(_ name: String?, at place: CodeLocation) {
    let (previous, report) = lock.withLock { () -> (Details?, NodeMonitor.Report?) in
      let previous = details
      details = Details(replacing: previous, name: name, place: previous?.place ?? place)
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
