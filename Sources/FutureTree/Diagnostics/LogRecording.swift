extension FutureLog {
  /// Creates an empty log. `logged(in:)` switches it on for a tree.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of events. Older events are dropped and counted. Defaults to 10,000. If the limit is
  ///     below 1, the log only counts events.
  ///   - clock: The clock that measures the time. The log reads it outside every lock. Defaults to `.system`.
  public convenience init(limit: Int = 10_000, clock: any FutureClock = .system) {
    self.init(limit: limit) { clock.now }
  }

  /// Returns the current contents of the log as a value that can be stored.
  public func recording() -> Recording {
    let (events, dropped) = contents
    return Recording(events: events, droppedCount: dropped)
  }

  /// Returns the number of a future in this log. `nil` if the future has completed or is in another log.
  package func number<Value>(of future: Future<Value>) -> Int? {
    future.node.lock.withLock { LogMembership.of(future.node, in: self)?.future }
  }

  /// Returns the events as text. See `Recording.text()`.
  public func text() -> String { recording().text() }

  /// The contents of a log at one time.
  ///
  /// Encoded as `{"events": [{"number": 1, "nanoseconds": 0, "future": 1, "name": "load", "fact": {"kind": …}}, …],
  /// "droppedCount": 0}`. The field names are stable.
  public struct Recording: Sendable, Hashable, Codable {
    /// The latest events, in the order in which they happened.
    public let events: [FutureEvent]
    /// The number of earlier events that were dropped.
    public let droppedCount: Int
  }
}

extension Future {
  /// Switches a log on for this future and every future connected to it, and returns this future.
  ///
  /// ```swift
  /// let log = FutureLog()
  /// let page = loadPage().logged(in: log)
  /// ```
  ///
  /// Futures that are later derived from or linked with these are logged as well. A future that is in a log stays in that
  /// log. A completed future is not logged.
  ///
  /// - Complexity: O(futures + edges).
  @discardableResult
  public func logged(in log: FutureLog) -> Future {
    log.add(treeOf: node)
    return self
  }
}

extension FutureLog.Recording: CustomStringConvertible {
  /// The events as text: `text()`.
  public var description: String { text() }

  /// Returns the events as text, one line for each event.
  ///
  /// A line has the time since the log was created, the number and the latest name of the future, and the event.
  ///
  /// - Complexity: O(events log events).
  public func text() -> String {
    let names = names
    let rows = events.map { event in
      (time: event.seconds, future: "\(event.future) \(names[event.future] ?? "")", fact: text(of: event.fact, names))
    }
    let widths = (time: rows.map(\.time.count).max() ?? 0, future: min(rows.map(\.future.count).max() ?? 0, 40))
    let lines = rows.map { row in
      String(repeating: " ", count: widths.time - row.time.count) + row.time + "  "
        + row.future.padded(to: widths.future) + "  " + row.fact
    }
    let dropped = droppedCount == 1 ? "1 earlier event was dropped" : "\(droppedCount) earlier events were dropped"
    return ((droppedCount > 0 ? [dropped] : []) + lines).joined(separator: "\n")
  }

  /// The latest name of each future.
  package var names: [Int: String] {
    var names: [Int: String] = [:]
    for event in events { names[event.future] = SafeText.line(event.name) }
    return names
  }

  private func text(of fact: FutureEvent.Fact, _ names: [Int: String]) -> String {
    let text = SafeText.line("\(fact)")
    guard case .linked(let input) = fact, let name = names[input] else { return text }
    return "\(text) \(name)"
  }
}

extension FutureEvent {
  /// The time as text, such as `0.250000 s`.
  package var seconds: String {
    let micros = nanoseconds.magnitude / 1_000
    let fraction = String(micros % 1_000_000)
    let zeros = String(repeating: "0", count: 6 - fraction.count)
    return "\(nanoseconds < 0 ? "-" : "")\(micros / 1_000_000).\(zeros)\(fraction) s"
  }
}
