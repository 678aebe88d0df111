/// The highest priority of the live callers of one flight of a `SingleFlight`.
///
/// ```swift
/// let icon = icons.load(url, priority: .high) { priority in
///   let job = queue.add(url, priority.current)
///   priority.onChange { job.priority = $0 }
///   return job.future
/// }
/// ```
///
/// The priority rises when a caller with a higher one joins, and falls when that caller's future has completed. The last caller
/// does not change it.
///
/// - Note: All members can be used from any thread.
public final class FlightPriority: Sendable {
  private struct State {
    /// The number of live callers for the raw value of each priority.
    var callers: [UInt8: Int] = [:]
    var current: TaskPriority
    var observers: [@Sendable (TaskPriority) -> Void] = []

    /// Returns whether the priority has changed.
    mutating func update() -> Bool {
      guard let highest = callers.keys.max(), highest != current.rawValue else { return false }
      current = TaskPriority(rawValue: highest)
      return true
    }
  }

  private let state: Locked<State>

  init(_ first: TaskPriority) {
    state = Locked(State(callers: [first.rawValue: 1], current: first))
  }

  /// The priority now.
  public var current: TaskPriority { state.withLock { $0.current } }

  /// Calls a closure with each later priority. The closures are called outside every lock, on the thread of the change.
  ///
  /// If two threads change the priority at the same time, the closures can be called twice with the later one.
  public func onChange(_ body: @escaping @Sendable (TaskPriority) -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  func join(_ priority: TaskPriority) {
    notify(
      state.withLock { state in
        state.callers[priority.rawValue, default: 0] += 1
        return state.update()
      })
  }

  func leave(_ priority: TaskPriority) {
    notify(
      state.withLock { state in
        let count = state.callers[priority.rawValue, default: 1] - 1
        state.callers[priority.rawValue] = count > 0 ? count : nil
        return state.update()
      })
  }

  /// Reports the priority, and again if another thread has changed it in between: that thread may have reported before.
  private func notify(_ hasChanged: Bool) {
    guard hasChanged else { return }
    var reported: TaskPriority
    repeat {
      let (priority, observers) = state.withLock { ($0.current, $0.observers) }
      reported = priority
      for observer in observers { observer(priority) }
    } while reported != current
  }
}

extension SingleFlight {
  /// Returns a future of the value for `key`, as `load(_:_:)` does. The load receives the highest priority of its live callers.
  ///
  /// ```swift
  /// let icon = icons.load(url, priority: .high) { priority in api.load(iconRequest.following(priority)) }
  /// ```
  ///
  /// Callers that join with `load(_:_:)` do not count, and neither do callers of a flight that began with it.
  ///
  /// - Parameters:
  ///   - key: The key of the value.
  ///   - priority: The priority of this caller. It counts until the future of this caller has completed.
  ///   - start: The closure that starts a flight, as for `load(_:_:)`.
  /// - Returns: A new future with the outcome of the flight. It is a consumer of the flight.
  /// - Complexity: O(1).
  public func load(
    _ key: Key, priority: TaskPriority, _ start: (_ priority: FlightPriority) throws -> Future<Value>
  ) -> Future<Value> {
    var shared: FlightPriority?
    var isFirst = false
    // Called before other callers can join a new flight.
    let derive = { (flight: Future<Value>) in
      shared = self.priority(of: flight, priority)
      return flight.forwarded()
    }
    let (caller, _) = join(key, as: derive) { _ in
      isFirst = true
      guard let shared else { preconditionFailure("`derive` runs first") }
      return try call { try start(shared) }
    }
    guard let shared else { return caller }
    if !isFirst { shared.join(priority) }
    caller.observe { _ in shared.leave(priority) }
    return caller
  }

  /// Returns the priority of a flight. A new one is forgotten when the flight ends.
  private func priority(of flight: Future<Value>, _ first: TaskPriority) -> FlightPriority {
    let (priority, isNew) = priorities.withLock { priorities in
      if let known = priorities[flight] { return (known, false) }
      let new = FlightPriority(first)
      priorities[flight] = new
      return (new, true)
    }
    if isNew {
      flight.observe { [weak self] _ in
        self?.priorities.release { $0.removeValue(forKey: flight) }
      }
    }
    return priority
  }
}
