/// A queue of asynchronous work that runs a limited number of bodies at a time.
///
/// ```swift
/// let pictures = FutureQueue(atMost: 4, perKey: 2)
/// let thumbnail = pictures.add(priority: .low, key: disk.name) { disk.render(photo) }
/// let portrait = pictures.add(priority: .high, key: disk.name) { disk.render(face) }  // Overtakes the thumbnail.
/// thumbnail.cancel()  // Leaves the queue.
/// ```
///
/// `FutureQueue()` is serial: the next body begins when the future of the previous one has completed, whatever its outcome.
///
/// A body begins when fewer than `limit` pieces of work run, and fewer than `perKey` of them with its key. Work that waits for
/// its key does not delay other work. Work with a higher priority begins before other work, and among equals the earliest
/// begins first. Work that has waited for `aging` longer than other work counts as one priority higher, so that no work waits
/// forever.
///
/// A queue only orders work. A queued future is not a consumer of the work before it, and forwards no request to it. Its body
/// runs after that work completes, regardless of the outcome. See <doc:Cancellation#Ordering-is-not-interest>. A queued future
/// that is asked to cancel leaves the queue and completes as `.cancelled` at once. Its body does not run.
///
/// Bodies run outside every lock. If the limits allow it, `add` runs the body. Otherwise the body runs where an earlier future
/// completes, after the consumers of that future have been notified. A queue can be used from any thread and from inside any
/// callback.
///
/// Work that waits for work of the same queue would never complete: see ``WaitsForOwnQueue``.
///
/// - Note: Dropping a queue cancels nothing. Work that was added still runs, in order. If the limit is 0, queued work fails
///   with ``BrokenPromise``, because nothing can begin it.
public final class FutureQueue: Sendable {
  @usableFromInline let core: QueueCore

  /// Creates an empty queue.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of pieces of work that run at a time. Defaults to 1. Values below 0 are treated as 0, which
  ///     holds all work.
  ///   - perKey: The maximum number of running pieces of work with the same key. Values below 1 are treated as 1. Defaults to
  ///     `nil`, which disables this limit.
  ///   - aging: The additional waiting time that counts as one priority. Defaults to 10 seconds. `nil` disables aging. With 0 or
  ///     less, the earliest work is first, regardless of its priority.
  ///   - clock: The clock that measures the waiting time. Defaults to `.system`.
  public init(
    atMost limit: Int = 1, perKey: Int? = nil, aging: Duration? = .seconds(10), clock: any FutureClock = .system
  ) {
    let aging = aging.map { max($0, .zero).clampedToMaximumTimerDuration }
    let order = LimitedQueue<QueuedWork>(atMost: max(0, limit), perKey: perKey.map { max(1, $0) }, aging: aging)
    core = QueueCore(order, clock: aging.map { _ in clock })
  }

  deinit { core.failIfHeld() }

  /// Runs `body` when the limits allow it, and returns a future of its result.
  ///
  /// After `body` has begun, cancellation requests are forwarded to the future that `body` returned. The work runs until that
  /// future has completed, even if the future that `add` returned completes early.
  ///
  /// - Parameters:
  ///   - priority: The priority of the work. The levels are `background`, `low`, `medium` and `high`. Other values count as the
  ///     next lower level.
  ///   - key: The key of the work, for `perKey`. Defaults to `nil`: only the limit of the queue applies.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled. It must not wait for work that waits in the same queue.
  /// - Returns: A new future with the outcome of the future that `body` returns.
  /// - Complexity: O(log n) in the number of queued pieces of work. So is leaving the queue.
  @inlinable @discardableResult
  public func add<Value>(
    priority: TaskPriority = .medium, key: String? = nil, _ body: @escaping @Sendable () throws -> Future<Value>
  ) -> Future<Value> {
    let queued = QueuedCall(of: core, key: key, body)
    let future = queued.promise.future
    core.enter(queued, priority)
    return future
  }

  /// Runs `body` as `add(priority:key:_:)` does. Its priority is that of a flight, which follows its live callers.
  ///
  /// ```swift
  /// let icon = icons.load(url, priority: .high) { priority in
  ///   queue.add(following: priority) { decode(url) }
  /// }
  /// ```
  @inlinable @discardableResult
  public func add<Value>(
    following priority: FlightPriority, key: String? = nil, _ body: @escaping @Sendable () throws -> Future<Value>
  ) -> Future<Value> {
    let queued = QueuedCall(of: core, key: key, body)
    let future = queued.promise.future
    let first = priority.current
    if let place = core.enter(queued, first) { core.follow(priority, from: first, place) }
    return future
  }
}

// MARK: - Inspecting and changing the queue

extension FutureQueue {
  /// Work that waits in a queue.
  public struct Waiting: Sendable, Equatable {
    /// The name of its future.
    public let name: String
    /// Its priority now.
    public let priority: TaskPriority
    /// Its key.
    public let key: String?
  }

  /// The queued work, in the order in which it would begin if only the limit of the queue applied.
  ///
  /// - Complexity: O(n log n).
  public var waiting: [Waiting] {
    core.waiting.map { queued, priority in
      Waiting(name: queued.node.lock.withLock { queued.node.label }, priority: priority, key: queued.key)
    }
  }

  /// The number of queued pieces of work.
  public var waitingCount: Int { core.read(\.count) }

  /// The number of pieces of work that run: their bodies have begun, and the futures of the bodies have not completed.
  public var runningCount: Int { core.read(\.running) }

  /// The maximum number of pieces of work that run at a time. It can be changed at any time. If it is raised, queued work
  /// begins. If it is lowered, running work continues, and less work begins. Values below 0 are treated as 0: no work begins.
  public var limit: Int {
    get { core.read(\.limit) }
    set { core.setLimit(max(0, newValue)) }
  }
}

/// The core of a `FutureQueue`. Queued and running work retains it, and not the queue.
@usableFromInline final class QueueCore: Sendable {
  @usableFromInline typealias Place = LimitedQueue<QueuedWork>.Entry

  private struct State {
    var order: LimitedQueue<QueuedWork>
    /// The work whose body has returned.
    var works: [RunningWork] = []

    /// Removes the next work that may begin.
    mutating func next() -> QueuedWork? {
      let queued = order.popFirst()
      queued?.place = nil
      return queued
    }
  }

  private let state: Locked<State>
  private let clock: (any FutureClock)?

  init(_ order: LimitedQueue<QueuedWork>, clock: (any FutureClock)?) {
    state = Locked(State(order: order))
    self.clock = clock
  }

  func read(_ count: KeyPath<LimitedQueue<QueuedWork>, Int>) -> Int { state.withLock { $0.order[keyPath: count] } }

  /// The queued work by its ranks, with its priorities.
  var waiting: [(QueuedWork, TaskPriority)] {
    state.withLock { state in state.order.itemsByRank.map { ($0, $0.priority) } }
  }

  func setLimit(_ limit: Int) {
    state.withLock { $0.order.limit = limit }
    advance()
  }

  /// Fails the queued work of a queue that no longer exists, if its limit is 0: nothing can begin the work.
  func failIfHeld() {
    let lost = state.withLock { state in
      let lost = state.order.limit == 0 ? state.order.removeAll() : []
      for queued in lost { queued.place = nil }
      return lost
    }
    for queued in lost { queued.begin(in: nil) }
  }

  /// Begins work, or appends it to the queue and returns its place.
  @usableFromInline @discardableResult func enter(_ queued: QueuedWork, _ priority: TaskPriority) -> Place? {
    let hasBegun = state.withLock { state in
      guard state.order.beginsAtOnce(queued.key) else { return false }
      state.order.began(queued.key)
      return true
    }
    if hasBegun {
      queued.begin(in: self)
      return nil
    }
    let now = clock?.now ?? .zero
    let (place, next) = state.withLock { state in
      queued.priority = priority
      let place = state.order.append(queued, key: queued.key, level: priority.level, at: now)
      queued.place = place
      return (place, state.next())
    }
    next?.begin(in: self)
    return place
  }

  /// Begins all work that the limits allow.
  private func advance() {
    while let queued = state.withLock({ $0.next() }) { queued.begin(in: self) }
  }

  /// Removes queued work. Returns `false` if it is not queued.
  fileprivate func leave(_ queued: QueuedWork) -> Bool {
    let left = state.withLock { state in
      guard let place = queued.place.take() else { return nil as Place? }
      state.order.remove(place)
      return place
    }
    return left != nil
  }

  /// Changes the priority of queued work with that of a flight.
  @usableFromInline func follow(_ priority: FlightPriority, from first: TaskPriority, _ place: Place) {
    priority.onChange { [weak self, weak place] priority in
      if let place { self?.move(place, to: priority) }
    }
    let current = priority.current
    if current != first { move(place, to: current) }
  }

  private func move(_ place: Place, to priority: TaskPriority) {
    state.withLock { state in
      state.order.move(place, to: priority.level)
      place.item.priority = priority
    }
  }

  /// Registers the work of a body that has returned.
  fileprivate func began(_ work: RunningWork) {
    state.withLock { state in
      work.position = state.works.count
      state.works.append(work)
    }
  }

  /// Registers that work has ended, and begins the next.
  ///
  /// - Parameter position: The position of the work in `works`. `nil` if it was not registered.
  fileprivate func ended(_ key: String?, _ position: Int?) {
    let next = state.withLock { state in
      if let position {
        let last = state.works.removeLast()
        if position < state.works.count {
          last.position = position
          state.works[position] = last
        }
      }
      state.order.ended(key)
      return state.next()
    }
    guard let next else { return }
    next.begin(in: self)
    advance()
  }

  /// The futures of the work that has the slots for which queued work waits. Empty if it does not wait, or if a body has not
  /// returned.
  fileprivate func works(before queued: QueuedWork) -> [Node] {
    state.withLock { state in
      guard queued.place != nil else { return [] }
      let isKeyFull = !state.order.hasRoom(for: queued.key)
      let ahead = isKeyFull ? state.works.filter { $0.key == queued.key } : state.works
      let count = isKeyFull ? state.order.running(queued.key) : state.order.running
      return ahead.count == count ? ahead.map(\.node) : []
    }
  }
}

/// Work that waits in a queue, and the handler of a request to its future.
///
/// A subclass holds the typed body. `beginStep` runs it.
@usableFromInline
class QueuedWork: HandlerEntry, @unchecked Sendable {  // Because: the lock of the queue guards its variables.
  /// A closure that runs the body, or fails the future if the queue no longer exists. It has no captures, and is made where the
  /// types are known.
  @usableFromInline typealias BeginStep = @Sendable (_ queued: QueuedWork, _ queue: QueueCore?) -> Void

  let node: Source
  let key: String?
  private let queue: QueueCore
  private let beginStep: BeginStep
  @exclusivity(unchecked) fileprivate final var place: QueueCore.Place?
  @exclusivity(unchecked) fileprivate final var priority = TaskPriority.medium

  @usableFromInline init(
    of queue: QueueCore, _ node: Source, key: String?, step: @escaping HandlerEntry.Step, begin: @escaping BeginStep
  ) {
    (self.queue, self.node, self.key, beginStep) = (queue, node, key, begin)
    super.init(of: node, on: .immediate, step: step)
    node.install(self)
  }

  override final var worksAhead: [Node] { queue.works(before: self) }

  /// Removes this work from the queue. Returns whether its future completes as `.cancelled` for a request.
  @usableFromInline final func leaves(for request: CancelRequest) -> Bool {
    queue.leave(self) || request.options.contains(.doNotForwardRequest)
  }

  fileprivate final func begin(in queue: QueueCore?) {
    Trampoline.run { beginStep(self, queue) }
  }

  /// Takes the outcome of the future that the body returned, and ends this work with it.
  @usableFromInline final func follow(_ future: Node, in queue: QueueCore) {
    let work = RunningWork(in: queue, of: node, key: key)
    queue.began(work)
    if !node.seal(onto: future, as: .work) { node.forwardRequest(to: future) }
    // If this future failed before the other, that one waits for this queue: the queued work needs the slot.
    let isCycle = node.ending == .failed && future.ending == nil
    if isCycle || !future.attach(work, isConsumer: false) { Trampoline.call(work) }
  }

  /// Ends the work of a body that threw.
  @usableFromInline final func end(in queue: QueueCore) {
    Trampoline.call(RunningWork(in: queue, of: node, key: key))
  }
}

@usableFromInline
final class QueuedCall<Value: Sendable>: QueuedWork, @unchecked Sendable {  // Because: the queue begins it once.
  @usableFromInline let promise: Promise<Value>
  @exclusivity(unchecked) @usableFromInline var body: (@Sendable () throws -> Future<Value>)?

  @inlinable init(of queue: QueueCore, key: String?, _ body: @escaping @Sendable () throws -> Future<Value>) {
    promise = Promise(.futureQueue)
    self.body = body
    super.init(of: queue, promise.source, key: key) { entry, source, request in
      guard let request, unsafeDowncast(entry, to: QueuedWork.self).leaves(for: request) else { return }
      source.fulfill(Completion<Value>.cancelled, innerRole: .answer(to: request))
    } begin: { queued, queue in
      let queued = unsafeDowncast(queued, to: QueuedCall<Value>.self)
      guard let body = queued.body.take() else { return }
      guard let queue else { return queued.promise.breakIfPending() }
      do {
        queued.follow(try body().node, in: queue)
      } catch {
        queued.promise.complete { throw error }
        queued.end(in: queue)
      }
    }
  }
}

/// Work that runs: an observer in the waiter list of the future that its body returned.
private final class RunningWork: Waiter, @unchecked Sendable {  // Because: the lock of the queue guards `position`.
  let node: Source
  let key: String?
  /// The position in `works`.
  @exclusivity(unchecked) var position: Int?
  @exclusivity(unchecked) private var queue: QueueCore?

  init(in queue: QueueCore, of node: Source, key: String?) {
    (self.queue, self.node, self.key) = (queue, node, key)
    super.init { entry, _, _ in
      // The next body begins after the waiters of this future have been notified.
      Trampoline.call(unsafeDowncast(entry, to: RunningWork.self))
      return false
    }
  }

  override func runDeferred() {
    queue.take()?.ended(key, position)
  }
}

extension TaskPriority {
  fileprivate var level: Int {
    switch self {
    case .high...: 3
    case .medium...: 2
    case .low...: 1
    default: 0
    }
  }
}
