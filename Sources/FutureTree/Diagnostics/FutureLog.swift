import Synchronization

/// A log of the events in a tree of futures.
///
/// ```swift
/// let log = FutureLog()
/// let page = loadPage().logged(in: log)
/// page.cancel()
/// print(log.text())
/// ```
/// ```
/// 0.000000 s  1 load  joined the log
/// 0.000000 s  2 page  joined the log
/// 0.000000 s  2 page  waits for 1 load
/// 0.250000 s  2 page  asked to cancel: the tab was closed (App/Tab.swift:7)
/// 0.250000 s  1 load  asked to cancel: the tab was closed (App/Tab.swift:7)
/// ```
///
/// `logged(in:)` switches the log on for a future and every future connected to it. Futures that are later derived from
/// or linked with these are logged as well. A future belongs to at most one log: the first. The only cost for a future
/// that is not logged is the check of one bit.
///
/// A log keeps the latest events, up to its limit, and counts the events that it dropped. It retains no future and no
/// error: errors are described when their futures fail. The log reads errors and the clock outside every lock, on the
/// thread of the event. All methods can be called from any thread.
///
/// A log can stay on, as a flight recorder: a logged link of a chain has four events, and needs 6.2 times the instructions of a
/// link that is not logged (`Benchmarks/guard --limits`).
///
/// - Complexity: O(1) for each event; memory for `limit` events.
public final class FutureLog: Sendable {
  private let buffer: Locked<EventBuffer>
  private let now: @Sendable () -> Duration
  private let onEvent: (@Sendable (FutureEvent, _ isPause: Bool) -> Void)?
  private let start: Duration
  private let lastNumber = Atomic(0)
  private let lastFuture = Atomic(0)

  /// - Parameter onEvent: Called after each event, outside every lock, on the thread of the event. It can call any function of
  ///   the library. It also receives whether the future is the timer of an operator.
  package init(
    limit: Int, now: @escaping @Sendable () -> Duration,
    onEvent: (@Sendable (FutureEvent, _ isPause: Bool) -> Void)? = nil
  ) {
    buffer = Locked(EventBuffer(limit: limit))
    self.now = now
    self.onEvent = onEvent
    start = now()
  }

  /// The latest events, in the order in which they happened.
  public var events: [FutureEvent] { buffer.value.inOrder }

  /// The number of events that were dropped.
  public var droppedCount: Int { buffer.withLock { $0.dropped } }

  /// The events and the number of dropped events, read at the same time.
  var contents: (events: [FutureEvent], dropped: Int) {
    let buffer = buffer.value
    return (buffer.inOrder, buffer.dropped)
  }

  /// Returns a number for an event that happens now. Can be called under a lock, so that the order of the numbers is the
  /// order of the events.
  func takeNumber() -> Int { takeNumbers(1) }

  /// Returns the first of the numbers for several events that happen now.
  func takeNumbers(_ count: Int) -> Int { lastNumber.add(count, ordering: .relaxed).oldValue + 1 }

  /// Returns a number for a future that joins this log.
  func takeFuture() -> Int { lastFuture.add(1, ordering: .relaxed).newValue }

  /// Stores an event. Called outside every lock.
  func record(_ fact: FutureEvent.Fact, of future: Int, isPause: Bool = false, named name: String, number: Int) {
    LockRule.assertNoLockIsHeld()
    let event = FutureEvent(number: number, time: now() - start, future: future, name: name, fact: fact)
    buffer.withLock { $0.append(event) }
    onEvent?(event, isPause)
  }
}
