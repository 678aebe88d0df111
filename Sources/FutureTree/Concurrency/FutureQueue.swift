/// A serial queue of asynchronous work: the next body begins when the future of the previous one has completed.
///
/// ```swift
/// let writes = FutureQueue()
/// let first = writes.add { file.write(header) }
/// let second = writes.add { file.write(body) }  // Begins when the first future has completed, whatever its outcome.
/// second.cancel()  // Leaves the queue; the header is written.
/// ```
///
/// A queue only orders work. A queued future is not a consumer of the work before it, and forwards no request to it. Its body
/// runs after that work completes, regardless of the outcome. See <doc:Cancellation#Ordering-is-not-interest>. A queued future
/// that is asked to cancel leaves the queue and completes as `.cancelled` at once. Its body does not run.
///
/// Bodies run one at a time, outside every lock. If no work is running, `add` runs the body. Otherwise the body runs where
/// the previous future completes, after the consumers of that future have been notified. A queue can be used from any
/// thread and from inside any callback.
///
/// - Note: Dropping a queue cancels nothing. Work that was added still runs, in order.
public final class FutureQueue: Sendable {
  private let state = Locked(State())

  private struct State {
    var places = LinkedList<Place>()
    var waiting = 0
    var isRunning = false
  }

  /// Creates an empty queue.
  public init() {}

  /// The number of bodies waiting in the queue.
  public var waitingCount: Int { state.withLock { $0.waiting } }

  /// Runs `body` once all previously added work has completed, and returns a future of its result.
  ///
  /// After `body` has begun, cancellation requests are forwarded to the future that `body` returned. The next body waits for
  /// that future, even if the future that `add` returned completes early.
  ///
  /// - Parameter body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///   `FutureCancelled`, the future is cancelled. It must not wait for work that is added to the same queue later.
  /// - Returns: A new future with the outcome of the future that `body` returns.
  /// - Complexity: O(1). Leaving the queue is O(1) as well.
  @discardableResult
  public func add<Value>(_ body: @escaping @Sendable () throws -> Future<Value>) -> Future<Value> {
    let promise = Promise<Value>()
    let place = Place(in: self) { place in place.run(body, completing: promise) }
    promise.onRequestCancel { [weak self, weak place] request in
      let hasLeft = place.map { self?.leave($0) ?? false } ?? false
      return hasLeft || request.options.contains(.doNotForwardRequest) ? .complete(.cancelled) : .continue
    }
    enter(place)
    return promise.future
  }
}

// MARK: - Ordering

extension FutureQueue {
  /// Begins the work of an entry, or appends the entry to the queue.
  private func enter(_ place: Place) {
    let begin = state.withLock { state in
      guard state.isRunning else {
        state.isRunning = true
        return place.begin.take()
      }
      state.places.append(place)
      state.waiting += 1
      return nil
    }
    begin?(place)
  }

  /// Begins the work of the first entry in the queue.
  fileprivate func advance() {
    let next = state.withLock { state in
      guard let place = state.places.popFirst() else {
        state.isRunning = false
        return nil as (place: Place, begin: Place.Begin?)?
      }
      state.waiting -= 1
      return (place, place.begin.take())
    }
    if let next { next.begin?(next.place) }
  }

  /// Removes a queued entry. Returns `false` if it is not queued.
  private func leave(_ place: Place) -> Bool {
    let begin = state.withLock { state in
      guard let begin = place.begin.take() else { return nil as Place.Begin? }
      state.places.remove(place)
      state.waiting -= 1
      return begin
    }
    return begin != nil  // Released here, not under the lock.
  }
}

/// The entry of one body: first in the queue, and then, as an observer, in the waiter list of the future that the body returned.
private final class Place: Waiter, @unchecked Sendable {  // Because: the queue's lock guards `begin`.
  typealias Begin = @Sendable (Place) -> Void

  /// The closure that runs the body. `nil` once it was called or removed.
  fileprivate var begin: Begin?
  private let queue: FutureQueue

  init(in queue: FutureQueue, _ begin: @escaping Begin) {
    self.queue = queue
    self.begin = begin
    super.init { entry, _, _ in
      // The next body begins after the waiters of this future have been notified.
      Trampoline.call(unsafeDowncast(entry, to: Place.self))
      return false
    }
  }

  func run<Value>(_ body: () throws -> Future<Value>, completing promise: Promise<Value>) {
    let work: Future<Value>
    do {
      work = try Trampoline.run(body)
    } catch {
      promise.complete { throw error }
      return Trampoline.call(self)
    }
    promise.seal(onto: work)
    if !work.node.attach(self, isConsumer: false) { Trampoline.call(self) }
  }

  /// Begins the next work in the queue.
  override func runDeferred() {
    queue.advance()
  }
}
