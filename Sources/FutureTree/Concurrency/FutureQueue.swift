/// Runs work one after the other: the next begins when the future of the one before has completed.
///
/// ```swift
/// let writes = FutureQueue()
/// let first = writes.add { file.write(header) }
/// let second = writes.add { file.write(body) }  // Begins when the header is written, or could not be.
/// second.cancel()  // Leaves the queue; the header is written.
/// ```
///
/// It only orders (law 22): a future that waits for its turn is no consumer of what runs before it, forwards nothing to it,
/// and begins however that ends. A future that is asked to cancel before its turn leaves the queue and completes
/// `.cancelled` at once; its body does not run.
///
/// Bodies run one at a time, outside every lock: in `add` if nothing runs, else where the future before completed, after
/// those who wait for that future itself have heard of it. It can be used from any thread and from inside any callback.
///
/// - Note: Dropping a queue cancels nothing: what was added still runs, in its order.
public final class FutureQueue: Sendable {
  private let state = Locked(State())

  private struct State {
    var places = LinkedList<Place>()
    var waiting = 0
    var isRunning = false
  }

  /// An empty queue.
  public init() {}

  /// How many bodies wait for their turn.
  public var waitingCount: Int { state.withLock { $0.waiting } }

  /// Runs `body` when everything that was added before has completed, and returns a future of what it returns.
  ///
  /// A request to cancel that comes after the body began goes to the future that it returned. The next body waits for that
  /// one, also where the future that `add` returned ends early.
  ///
  /// - Parameter body: what it throws fails the future; `CancellationError` and `FutureCancelled` cancel it. It must not
  ///   wait for what is added to the same queue later.
  /// - Returns: a future of its own for this place in the queue, which ends as the future of `body` does.
  /// - Complexity: O(1), leaving the queue included.
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

// MARK: - The order

extension FutureQueue {
  /// Begins, or waits at the end.
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

  /// Begins with what has waited longest.
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

  /// Takes out a place that waits. Returns false if it does not.
  private func leave(_ place: Place) -> Bool {
    let begin = state.withLock { state in
      guard let begin = place.begin.take() else { return nil as Place.Begin? }
      state.places.remove(place)
      state.waiting -= 1
      return begin
    }
    return begin != nil  // It is freed here, not under the lock.
  }
}

/// Where one body stands: first in the queue, and then, as an observer, with the future that the body returned.
private final class Place: Waiter, @unchecked Sendable {  // Because: the queue's lock guards `begin`.
  typealias Begin = @Sendable (Place) -> Void

  /// Runs the body; nil once it was called or taken out.
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

  /// Lets the next begin.
  override func runDeferred() {
    queue.advance()
  }
}
