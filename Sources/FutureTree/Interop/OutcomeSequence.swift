extension Future {
  /// Returns the outcomes of several futures, in the order in which they complete.
  ///
  /// ```swift
  /// for try await completion in Future.outcomes(of: downloads) {
  ///   rows[completion.index].show(completion.outcome)
  /// }
  /// ```
  ///
  /// - Returns: A sequence with one element for each future. Futures that have already completed come first, in their
  ///   original order.
  /// - Complexity: O(futures) when an iteration begins and when it ends early; O(1) for each outcome.
  public static func outcomes(of futures: some Sequence<Future>) -> OutcomeSequence<Value> {
    OutcomeSequence(futures: Array(futures))
  }
}

/// A sequence of the outcomes of several futures, in the order in which they complete. `Future.outcomes(of:)` returns it.
///
/// Each iteration is a consumer of every future, from its beginning until the future completes. If the iterating task is
/// cancelled, `next` throws `CancellationError` instead of waiting. An iteration can also end early with `break` or an error.
/// In both cases its interest in the remaining futures is withdrawn with a `doNotForwardIfOthersWaiting` request. See
/// <doc:Cancellation#Awaiting>.
///
/// A sequence can be iterated several times, even concurrently.
public struct OutcomeSequence<Value: Sendable>: AsyncSequence, Sendable {
  let futures: [Future<Value>]

  /// The outcome of one future.
  public struct Element: Sendable {
    /// The index of the future in the given sequence, counted from 0.
    public let index: Int
    /// The outcome of the future.
    public let outcome: Outcome<Value>
  }

  /// Begins an iteration, which is a consumer of the futures.
  public func makeAsyncIterator() -> Iterator {
    Iterator(arrivals: Arrivals(of: futures))
  }

  /// One iteration, which is a consumer of the futures until it is dropped.
  public struct Iterator: AsyncIteratorProtocol {
    private let lease: Lease

    fileprivate init(arrivals: Arrivals<Value>) {
      lease = Lease(arrivals: arrivals)
    }

    /// Returns the next outcome as soon as a future completes, or `nil` after the outcome of the last future.
    ///
    /// An outcome that is already available is returned even in a cancelled task.
    ///
    /// - Throws: `CancellationError` if the task was cancelled. The error ends the iteration.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      switch await lease.arrivals.next() {
      case .element(let element):
        return element
      case .ended:
        return nil
      case .taskWasCancelled:
        lease.arrivals.withdraw("the iterating task was cancelled")
        throw CancellationError()
      }
    }
  }

  /// An object that one iterator and its copies share. Its `deinit` withdraws their interest.
  private final class Lease: Sendable {
    let arrivals: Arrivals<Value>

    init(arrivals: Arrivals<Value>) {
      self.arrivals = arrivals
    }

    deinit {
      arrivals.withdraw(.of(.abandoned, "the iteration ended early"))
    }
  }
}

extension OutcomeSequence.Element: Equatable where Value: Equatable {}

/// The outcomes that have arrived and were not read, or the task that waits for the next one.
private final class Arrivals<Value: Sendable>: @unchecked Sendable {  // Because: `lock` guards every field.
  typealias Element = OutcomeSequence<Value>.Element
  typealias Continuation = UnsafeContinuation<Event, Never>

  /// The value that resumes a waiting task.
  enum Event: Sendable {
    case element(Element)
    case ended
    case taskWasCancelled
  }

  private let lock = Lock()
  private var ready: [Element?] = []
  private var taken = 0
  /// The entries that are not notified or withdrawn yet, by the indexes of their futures.
  private var slots: [Int: InputWaiter<Value>] = [:]
  private var continuation: Continuation?
  private var taskIsCancelled = false

  init(of futures: [Future<Value>]) {
    var pending: [InputWaiter<Value>] = []
    for (index, future) in futures.enumerated() {
      if let outcome = future.outcomeIfCompleted {
        ready.append(Element(index: index, outcome: outcome))
      } else {
        pending.append(InputWaiter(node: future.node, index: index, arrivals: self))
      }
    }
    lock.withLock { slots = Dictionary(uniqueKeysWithValues: pending.map { ($0.index, $0) }) }
    for slot in pending where !slot.node.attach(slot, isConsumer: true) { arrived(slot) }
  }

  /// Handles the completion of the future of a slot.
  func arrived(_ slot: InputWaiter<Value>) {
    let element = Element(index: slot.index, outcome: slot.node.outcome(as: Value.self))
    let continuation: Continuation? = lock.withLock {
      guard slots.removeValue(forKey: slot.index) != nil else { return nil }
      if let continuation = self.continuation.take() { return continuation }
      ready.append(element)
      return nil
    }
    continuation?.resume(returning: .element(element))
  }

  /// Withdraws the interest in the remaining futures.
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
      // The runtime may hold a lock of the task here. The handler therefore only resumes the task, which then withdraws.
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

  /// Returns the next event, if there is one. Called under the lock.
  private func takeEvent() -> Event? {
    if taken < ready.count, let element = ready[taken].take() {
      taken += 1
      return .element(element)
    }
    ready = []  // All elements are `nil`: no value is released under the lock.
    taken = 0
    if slots.isEmpty { return .ended }
    return taskIsCancelled ? .taskWasCancelled : nil
  }
}

/// The entry of one iteration in the waiter list of one future.
private final class InputWaiter<Value: Sendable>: Waiter, @unchecked Sendable {
  // Because: its own fields are constant.
  let node: Node
  let index: Int
  private let arrivals: Arrivals<Value>

  init(node: Node, index: Int, arrivals: Arrivals<Value>) {
    self.node = node
    self.index = index
    self.arrivals = arrivals
    super.init { entry, _, _ in
      let slot = unsafeDowncast(entry, to: InputWaiter<Value>.self)
      slot.arrivals.arrived(slot)
      return false
    }
  }
}
