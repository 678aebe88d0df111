extension Future {
  /// The outcomes of several futures, in the order in which they come.
  ///
  /// ```swift
  /// for try await completion in Future.outcomes(of: downloads) {
  ///   rows[completion.index].show(completion.outcome)
  /// }
  /// ```
  ///
  /// - Returns: a sequence with one element for each future. Those that have completed come first, in their order.
  /// - Complexity: O(futures) where an iteration begins and where it ends early; O(1) for each outcome.
  public static func outcomes(of futures: some Sequence<Future>) -> OutcomeSequence<Value> {
    OutcomeSequence(futures: Array(futures))
  }
}

/// The outcomes of several futures, in the order in which they come. `Future.outcomes(of:)` makes one.
///
/// Each iteration is a consumer of every future from when it begins until that future has completed. When the iterating
/// task is cancelled, `next` throws `CancellationError` where it would have to wait; then, and when the iteration ends early
/// with `break` or an error, the interest in the futures that are left is withdrawn, with a request to cancel that stops
/// where others wait (laws 3 and 14).
///
/// A sequence can be iterated several times, at the same time too.
public struct OutcomeSequence<Value: Sendable>: AsyncSequence, Sendable {
  let futures: [Future<Value>]

  /// The outcome of one future.
  public struct Element: Sendable {
    /// The position of the future among those that were given, counted from 0.
    public let index: Int
    /// How it ended.
    public let outcome: Outcome<Value>
  }

  /// Begins to want the outcomes.
  public func makeAsyncIterator() -> Iterator {
    Iterator(arrivals: Arrivals(of: futures))
  }

  /// One iteration, which is a consumer of the futures until it is dropped.
  public struct Iterator: AsyncIteratorProtocol {
    private let lease: Lease

    fileprivate init(arrivals: Arrivals<Value>) {
      lease = Lease(arrivals: arrivals)
    }

    /// The next outcome, once there is one; nil when there was one of each future.
    ///
    /// An outcome that is there is returned also in a cancelled task.
    ///
    /// - Throws: `CancellationError` if the task was cancelled; that ends the iteration.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      switch await lease.arrivals.next() {
      case .element(let element):
        return element
      case .ended:
        return nil
      case .taskWasCancelled:
        lease.arrivals.withdraw("the task that iterated was cancelled")
        throw CancellationError()
      }
    }
  }

  /// Held by one iterator and its copies.
  private final class Lease: Sendable {
    let arrivals: Arrivals<Value>

    init(arrivals: Arrivals<Value>) {
      self.arrivals = arrivals
    }

    deinit {
      arrivals.withdraw("the iteration ended early")
    }
  }
}

extension OutcomeSequence.Element: Equatable where Value: Equatable {}

/// The outcomes that have come and were not asked for, or the task that waits for the next.
private final class Arrivals<Value: Sendable>: @unchecked Sendable {  // Because: `lock` guards everything.
  typealias Element = OutcomeSequence<Value>.Element
  typealias Continuation = UnsafeContinuation<Event, Never>

  /// What a task that waits is resumed with.
  enum Event: Sendable {
    case element(Element)
    case ended
    case taskWasCancelled
  }

  private let lock = Lock()
  private var ready: [Element?] = []
  private var taken = 0
  /// The entries that are told or withdrawn later, by the positions of their futures.
  private var slots: [Int: Slot<Value>] = [:]
  private var continuation: Continuation?
  private var taskIsCancelled = false

  init(of futures: [Future<Value>]) {
    var pending: [Slot<Value>] = []
    for (index, future) in futures.enumerated() {
      if let outcome = future.outcomeIfCompleted {
        ready.append(Element(index: index, outcome: outcome))
      } else {
        pending.append(Slot(node: future.node, index: index, arrivals: self))
      }
    }
    lock.withLock { slots = Dictionary(uniqueKeysWithValues: pending.map { ($0.index, $0) }) }
    for slot in pending where !slot.node.attach(slot, isConsumer: true) { arrived(slot) }
  }

  /// The future of a slot has ended.
  func arrived(_ slot: Slot<Value>) {
    let element = Element(index: slot.index, outcome: slot.node.outcome(as: Value.self))
    let continuation: Continuation? = lock.withLock {
      guard slots.removeValue(forKey: slot.index) != nil else { return nil }
      if let continuation = self.continuation.take() { return continuation }
      ready.append(element)
      return nil
    }
    continuation?.resume(returning: .element(element))
  }

  /// Lets go of the futures that are left.
  func withdraw(_ reason: CancellationReason) {
    let left = lock.withLock {
      defer { slots = [:] }
      return slots
    }
    guard !left.isEmpty else { return }
    let request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason)
    let inOrder = left.values.sorted { $0.index < $1.index }
    CancellationPropagation.run(
      inOrder.map { Signal(node: $0.node, request: request, sender: $0, departure: .leaves) })
  }
}

// MARK: - Waiting

extension Arrivals {
  fileprivate nonisolated(nonsending) func next() async -> Event {
    lock.withLock { taskIsCancelled = false }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { wait($0) }
    } onCancel: {
      // The runtime may hold a lock of the task here, so nothing is done but to wake the task: it withdraws.
      taskWasCancelled()
    }
  }

  private func wait(_ continuation: Continuation) {
    let event: Event? = lock.withLock {
      if let event = takeEvent() { return event }
      self.continuation = continuation
      return nil
    }
    if let event { continuation.resume(returning: event) }
  }

  private func taskWasCancelled() {
    let continuation = lock.withLock {
      taskIsCancelled = true
      return self.continuation.take()
    }
    continuation?.resume(returning: .taskWasCancelled)
  }

  /// What is there to say now. Called under the lock.
  private func takeEvent() -> Event? {
    if taken < ready.count, let element = ready[taken].take() {
      taken += 1
      return .element(element)
    }
    ready = []  // Empty places: no value is freed under the lock.
    taken = 0
    if slots.isEmpty { return .ended }
    return taskIsCancelled ? .taskWasCancelled : nil
  }
}

/// The entry of one iteration in the list of one future.
private final class Slot<Value: Sendable>: Waiter, @unchecked Sendable {  // Because: all it adds is constant.
  let node: Node
  let index: Int
  private let arrivals: Arrivals<Value>

  init(node: Node, index: Int, arrivals: Arrivals<Value>) {
    self.node = node
    self.index = index
    self.arrivals = arrivals
    super.init { entry, _, _ in
      let slot = unsafeDowncast(entry, to: Slot<Value>.self)
      slot.arrivals.arrived(slot)
      return false
    }
  }
}
