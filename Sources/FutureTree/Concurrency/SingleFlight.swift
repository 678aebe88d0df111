/// A group that deduplicates concurrent loads of the same key.
///
/// ```swift
/// let users = SingleFlight<User.ID, User>()
/// let user = users.load(id) { api.user(id) }
/// ```
///
/// The first caller for a key starts a *flight*: one load of the value. Later callers for the key join that flight. When the
/// flight completes, the next caller starts a new one. Nothing is cached.
///
/// Each caller receives its own future, so cancelling one does not affect the others:
///
/// - While other callers wait, a cancellation request from one caller completes only that caller's future, regardless of
///   the options of the request.
/// - When the last caller requests cancellation, the load is asked to cancel, and no caller can join the flight anymore. The
///   next caller starts a new flight, even if the previous one has not completed yet.
///
/// With a linger, the last request is delayed: the flight of the last caller continues for that time, and the next caller joins
/// it. See <doc:Cancellation#Lingering>.
///
/// A group can be used from any thread and from inside any callback. The `==` and `hash(into:)` of a key run under the lock
/// of the group, so they must not call the group.
///
/// - Note: Dropping a group cancels nothing. Its flights still complete for their callers.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let flights = Locked<[Key: Future<Value>]>([:])
  /// The priorities of the flights that began with one.
  let priorities = Locked<[Future<Value>: FlightPriority]>([:])
  @usableFromInline let linger: Duration
  @usableFromInline let clock: any FutureClock

  /// Creates a group without flights.
  ///
  /// - Parameters:
  ///   - linger: The time for which a flight continues after its last caller has requested cancellation. Defaults to zero: the
  ///     load is asked at once.
  ///   - clock: The clock that measures it. Defaults to `.system`.
  public init(linger: Duration = .zero, clock: any FutureClock = .system) {
    self.linger = linger
    self.clock = clock
  }

  /// The number of keys with a flight, including flights that linger, and flights that were asked to cancel and have not
  /// completed.
  public var count: Int { flights.withLock { $0.count } }

  /// Returns a future of the value for `key`. Starts a load if none is in flight.
  ///
  /// ```swift
  /// let icon = icons.load(url) { session.download(url).map { try Icon($0) } }
  /// ```
  ///
  /// - Parameters:
  ///   - key: The key of the value.
  ///   - start: The closure that starts a flight. It is called outside every lock, before this method returns, and only if
  ///     there is no flight to join. If it throws, the flight fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the flight is cancelled. It must not wait for the flight that it starts.
  /// - Returns: A new future with the outcome of the flight. It is a consumer of the flight.
  /// - Complexity: O(1).
  @inlinable public func load(_ key: Key, _ start: () throws -> Future<Value>) -> Future<Value> {
    join(key, as: { $0.forwarded() }, { _ in try call(start) }).caller
  }

  /// Calls a closure of the user. Futures that it completes notify their consumers after it has
  /// returned. Law 19 (no user code under a lock).
  @usableFromInline func call(_ start: () throws -> Future<Value>) rethrows -> Future<Value> {
    try Trampoline.run(start)
  }

  /// Joins or starts a flight, and returns the key that started it. A key that is an object can store data of the flight.
  /// `start` receives the flight itself. It must not pass the flight on or ask it to cancel.
  ///
  /// - Parameter derive: Makes the future of a caller, which is a consumer of the flight.
  @inlinable package func join(
    _ key: Key, as derive: (_ flight: Future<Value>) -> Future<Value>,
    _ start: (_ flight: Future<Value>) throws -> Future<Value>
  ) -> (caller: Future<Value>, key: Key) {
    var finished: Future<Value>?
    while true {
      if let (key, flight) = current(key), flight != finished {
        if let caller = join(flight, derive) { return (caller, key) }
        finished = flight
      }
      let promise = Promise<Value>()
      let flight = promise.future.shared(linger: linger, clock: clock)
      // Observed first, so that the key is free before any consumer is notified of the outcome.
      flight.observe { [weak self] _ in self?.end(flight, key) }
      // Derived before other callers can join, so that the flight always has a consumer.
      let caller = derive(flight)
      guard begin(flight, key, insteadOf: finished) else {
        promise.complete(.cancelled)
        continue
      }
      promise.complete(.completeUsing(.attempt { try start(flight) }))
      return (caller, key)
    }
  }

  @inlinable func current(_ key: Key) -> Flight? {
    flights.withLock { flights in flights.index(forKey: key).map { flights[$0] } }
  }

  /// Joins a flight. Returns `nil` if the flight is over.
  @inlinable func join(
    _ flight: Future<Value>, _ derive: (_ flight: Future<Value>) -> Future<Value>
  ) -> Future<Value>? {
    guard !flight.isCompleted else { return nil }
    // The order matters: a request that is made after the caller joined sees the caller as a consumer.
    let caller = derive(flight)
    guard flight.cancelRequest != nil else { return caller }
    caller.cancel(.doNotForwardRequest)
    return nil
  }

  /// Replaces a finished flight with a new one. Returns `false` if another caller did so first.
  @inlinable func begin(_ flight: Future<Value>, _ key: Key, insteadOf finished: Future<Value>?) -> Bool {
    let (isFirst, previous) = flights.withLock { flights in
      // Removed first: an update would keep the key of the previous flight.
      let index = flights.index(forKey: key)
      if let index, flights[index].value != finished { return (false, nil as Flight?) }
      let previous = index.map { flights.remove(at: $0) }
      flights[key] = flight
      return (true, previous)
    }
    _ = previous  // Released here, not under the lock.
    return isFirst
  }

  @inlinable func end(_ flight: Future<Value>, _ key: Key) {
    flights.release { flights in
      guard let index = flights.index(forKey: key), flights[index].value == flight else { return nil as Flight? }
      return flights.remove(at: index)
    }
  }

  /// Ends the linger of all flights. Their last requests are delivered at once.
  ///
  /// - Returns: The flights that had no callers. They have been asked to cancel, and may not have completed.
  package func stopLingering() -> [Future<Value>] {
    all.map(\.value).filter { $0.node.stopLingering() }
  }

  /// The flights with their keys.
  package var all: [Flight] { flights.withLock { Array($0) } }

  @usableFromInline package typealias Flight = (key: Key, value: Future<Value>)
}
