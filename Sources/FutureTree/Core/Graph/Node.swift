/// The non-generic base class of all futures. This header explains the core.
///
/// # Model
/// `Future<Value>` is a typed handle to a node. Below, *future* means a node. A future is *pending* until it has an outcome. It has
/// a state (`FutureState`), a list of waiters, and storage for its outcome. A *source* is a future that a promise completes.
///
/// A *waiter* is an entry in the list of a future: a derived future, a slot of a join, an observer, an awaiting task, or a blocked
/// thread. A derived future is itself the entry, so that an operator allocates one object. A *consumer* is a waiter, or a cancel
/// token, that `FutureState.consumers` counts. Observers do not count. An *inner future* is the future that a body returned, or
/// that a promise was sealed onto.
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
/// Each arrow retains its target. Each entry has an unretained reference back to the future that it waits for: `upstream`, or
/// `input` of a slot.
///
/// Laws are the numbered sections of the guide *Cancellation*.
///
/// # Invariants
/// 1. While a future is pending, `lock` guards its `state`, its `waiters`, the `upstream` in `storage`, and the fields of
///    subclasses. The lock of the future that an entry waits for guards the entry's own fields (`Waiter`). When a future has ended,
///    its `state` and `storage` do not change any more: code that learned of the end reads them without the lock. `waiters` then
///    belongs to the thread that notifies them. So code checks `isPending` before it changes the state. `details` is always guarded.
/// 2. A pending future is retained by the object that will complete it: its promise, the list of its upstream, its slots, or the
///    job of an executor. `upstream` does not retain. While it is set, the upstream is alive, because the thread that notifies the
///    upstream's waiters retains it until this entry had its turn. In that turn, or when the future ends, `upstream` is replaced.
/// 3. When a future stops waiting for a pending upstream, the same thread then removes the entry from the list of that upstream.
///    In between, the entry is still listed.
/// 4. A thread holds one lock at most. Under a lock the library calls no body, handler, clock or executor, and releases no object
///    whose `deinit` can run user code. Such an object is returned from the locked section and released after it.
/// 5. Links of derived futures form no reference cycle. A join and its slots, a join and its inputs, and a source and its handlers
///    do. The end of the join, of the input or of the source breaks these.
///
/// # Why locks cannot deadlock
/// By invariant 4 no thread waits for a lock while it holds one. An operation on two futures locks the first, unlocks it, and then
/// locks the second. Other threads may run in between, so that each part checks the state again. `Node.link` first adds this
/// future to the list of the inner future and then sets `upstream`, so that a thread that sees `upstream` can rely on the entry.
/// Debug builds assert that a thread takes no second lock (`LockRule`). With `FUTURETREE_EXPLORER`, tests run every interleaving of
/// small programs (`Tests/FutureTreeTests/Explorer`).
///
/// # Memory order
/// To unlock releases, to lock acquires, and no field of the core is atomic but the lock's own (`ParkingLock`). The list of an
/// upstream and `upstream` publish a future to other threads, both under a lock. Its handle is passed on safely by the user's
/// code. So each thread that reaches a future knows what its initializer wrote. The following reads take no lock. Behind each
/// stand its release and its acquire.
///
/// 1. The thread that ended a future reads `state`, `storage`, `waiters`, and the fields of the entries. Release: the unlock of
///    each `attach`. Acquire: the lock under which the thread ended the future.
/// 2. An operation that came too late reads `state` and `storage`. Release: the unlock of the section that ended the future.
///    Acquire: the lock under which the operation found that out.
/// 3. A body on an executor or a blocked thread reads the same. Release: submitting the job, signalling the semaphore. Acquire:
///    running the job, the end of the wait. An awaiting task takes the lock again (`acquireEnd`).
/// 4. The last slot of a join reads the `storage` of all inputs. Release: the unlock after each other slot was counted. Acquire:
///    the lock under which the last was counted.
/// 5. Under the lock of a queued future, its ended upstream is read. Release: the unlock after the thread that knew of the end
///    set `upstream`. Acquire: the lock of the queued future.
/// 6. The thread that took a `body` over runs or releases it (invariant 2 of `FutureState`; `Observer`). Release: the unlock of
///    the section before. Acquire: the lock under which the thread took it over.
/// 7. A `deinit` reads all fields, and `Promise.deinit` reads `isKnownToBeFulfilled`. Release: dropping a reference. Acquire: the
///    runtime's fence before `deinit`.
/// 8. `isKnownUniquelyReferenced` reads the reference count, relaxed. Release: dropping a reference. Acquire: nothing. What
///    follows reads only what the lock of that future guarded, under that lock.
/// 9. Constants, such as `step` and `state.createdBy`, are read at any time. Release: publishing the object. Acquire: reaching
///    it.
///
/// A `Trampoline` belongs to one thread: it hands nothing over. The counters of `FutureLog` are relaxed: additions to one counter
/// have one order, and the locks under which they are made order them further. `MemoryOrderTests` runs the lock and the reads 1,
/// 2, 4, 7 and 8 in a model of C11.
///
/// # The path of a value
/// 1. `Promise.succeed` stores the value in its source under the lock. `FutureState.end` rejects a second completion. The handlers
///    are released.
/// 2. `Trampoline.notify` takes the waiters out of the list, one after the other. If this thread is notifying already, it only adds
///    the source to the thread's queue.
/// 3. Each waiter takes its turn. `FutureState.upstreamEnded` decides what a derived future does: it runs its body now, submits it
///    to an executor, ends as its upstream did, or ends `.cancelled`. What needs the types is left to its `step`, a closure without
///    captures that is made where they are known, so that it is specialized. If the body returned a future, `Node.link` adds this
///    one to the list of that.
/// 4. A future that has ended in its turn is queued. The loop goes on with the other waiters, and then with the queue. No chain
///    recurses, however long it is (law 20).
///
/// # The path of a request
/// 1. `Future.cancel` runs a `CancellationPropagation` with one `Signal`. Signals go upstream. A future is visited after all futures
///    that wait for it and that the propagation can reach (`TopologicalOrder`, where paths part). Under its lock,
///    `FutureState.receive` decides on the request: too late, duplicate, withheld because other consumers remain, or applied.
///    Applied means: take the handlers of a source, forward, store the request while a body runs, end, or skip the body. It also
///    answers which signals go onward.
/// 2. Where the request was withheld, the futures between there and the requester end `.cancelled`.
/// 3. Futures that have ended leave the lists of the futures that they waited for.
/// 4. Handlers are called, in the reverse order of the visit.
/// 5. The waiters of ended futures are notified. A future that only forwarded the request stays pending until its upstream ends.
///
/// From `Future.cancel` to the handler of a promise these are some 25 calls, in ten files. The source is locked once.
///
/// # Where to add something
/// An operator needs a case of `Operator`, which says on which outcomes it runs its body, and a file in `Operators`. A join over
/// several futures calls `JoinNode.future` with a rule: what it does when an input has ended, and what it ends with when none has
/// decided. A join that begins its inputs one after the other makes slots, and its rule answers `waitsFor` (`traverse`, `retry`).
@usableFromInline
class Node: Waiter, @unchecked Sendable {  // Because: see invariant 1.
  /// Whether `storage` has a value that must be destroyed: not one that is plain bits, as an `Int` is.
  @exclusivity(unchecked) final var ownsValue = false
  final let lock = Lock()
  @exclusivity(unchecked) final var state: FutureState
  @exclusivity(unchecked) final var waiters = LinkedList<Waiter>()
  /// What it waits for while it is pending; then the value, the error or the reason, by the phase of `state`.
  @exclusivity(unchecked) @usableFromInline final var storage = ValueStorage()
  @exclusivity(unchecked) final var details: Details?

  /// What few futures have.
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

  /// Whether it waits for so many that nobody looks at all of them to find a cycle. Called under the lock.
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

  /// Forgets the inputs of a join that has ended; by invariant 3 the caller leaves their lists. Called under the lock.
  func forgetInputs() {}

  /// One edge of the tree.
  struct Link {
    let node: Node
    let entry: Waiter
  }
}
