/// Loads what many callers ask for at the same time once.
///
/// ```swift
/// let users = SingleFlight<User.ID, User>()
/// let user = users.load(id) { api.user(id) }
/// ```
///
/// The first caller of a key starts a flight; who asks for the same key while it is under way joins it. Each caller gets a
/// future of its own, so that cancelling one leaves the others: a request that a caller makes stops while others wait,
/// whatever its options are, and only that caller's future ends. When the last caller leaves by a request, what was
/// started is asked with it and the flight is over: who comes then starts a new one, also while the old one is still
/// ending. When a flight has completed its key is free. Nothing is cached.
///
/// It can be used from any thread and from inside any callback. The `==` and `hash(into:)` of a key run under its lock: they
/// must not call back.
///
/// - Note: Dropping it cancels nothing; flights that are under way complete for their callers.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let flights = Locked<[Key: Future<Value>]>([:])

  /// One without flights.
  public init() {}

  /// How many keys are being loaded, those included whose flight is ending.
  public var count: Int { flights.withLock { $0.count } }

  /// Returns a future of what is being loaded for `key`, and starts loading it if nobody does.
  ///
  /// ```swift
  /// let icon = icons.load(url) { session.download(url).map { try Icon($0) } }
  /// ```
  ///
  /// - Parameters:
  ///   - key: what is loaded.
  ///   - start: starts a flight. It is called at once and outside every lock, or not at all: once for each flight, however
  ///     many threads come at the same moment. What it throws fails the flight; `CancellationError` and `FutureCancelled`
  ///     cancel it. It must not wait for the flight that it starts.
  /// - Returns: a future of the caller's own: a consumer of the flight, whose outcome passes.
  /// - Complexity: O(1).
  @inlinable public func load(_ key: Key, _ start: () throws -> Future<Value>) -> Future<Value> {
    join(key, as: { $0.forwarded() }, { _ in try call(start) }).caller
  }

  /// Calls a closure of the user: futures that it completes notify their consumers when it has returned (law 19).
  @usableFromInline func call(_ start: () throws -> Future<Value>) rethrows -> Future<Value> {
    try Trampoline.run(start)
  }

  /// Joins or starts a flight. Returns the future of the caller and the key with which the flight was started. A key that is an
  /// object can hold the data of the flight. `start` receives the flight itself. It must not hand out the flight, or ask it to
  /// cancel.
  ///
  /// - Parameter derive: Makes the future of a caller. That future is a consumer of the flight.
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
      let flight = promise.future.shared()
      // Before anybody hears of the outcome the key is free.
      flight.observe { [weak self] _ in self?.end(flight, key) }
      // Before anybody can join it and leave, it is wanted.
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

  /// Joins a flight, unless it is over.
  @inlinable func join(
    _ flight: Future<Value>, _ derive: (_ flight: Future<Value>) -> Future<Value>
  ) -> Future<Value>? {
    guard !flight.isCompleted else { return nil }
    // First join, then look: who was asked after we joined knows that we wait.
    let caller = derive(flight)
    guard flight.cancelRequest != nil else { return caller }
    caller.cancel(.doNotForwardRequest)
    return nil
  }

  /// Puts a flight in the place of one that is over. Returns false if another was faster.
  @inlinable func begin(_ flight: Future<Value>, _ key: Key, insteadOf finished: Future<Value>?) -> Bool {
    let (isFirst, previous) = flights.withLock { flights in
      // Removed first, because an update would keep the key of the previous flight.
      let index = flights.index(forKey: key)
      if let index, flights[index].value != finished { return (false, nil as Flight?) }
      let previous = index.map { flights.remove(at: $0) }
      flights[key] = flight
      return (true, previous)
    }
    _ = previous  // Freed here, not under the lock.
    return isFirst
  }

  @inlinable func end(_ flight: Future<Value>, _ key: Key) {
    let ended = flights.withLock { flights in
      guard let index = flights.index(forKey: key), flights[index].value == flight else { return nil as Flight? }
      return flights.remove(at: index)
    }
    _ = ended  // Freed here, not under the lock: the key may have a `deinit`.
  }

  @usableFromInline typealias Flight = (key: Key, value: Future<Value>)
}
