import Synchronization

/// What happens in a tree of futures, event by event.
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
/// 0.250000 s  2 page  asked: the tab was closed (App/Tab.swift:7)
/// 0.250000 s  1 load  asked: the tab was closed (App/Tab.swift:7)
/// ```
///
/// `logged(in:)` switches it on for a future and every future connected with it. What is derived from those, or linked
/// with them, later is logged as well. A future is in one log at most: the first. Nothing else pays for a log but the look
/// at one bit.
///
/// A log keeps the latest events, up to its limit, and counts those it dropped. It keeps no future alive, and no error:
/// errors are described when their futures fail. Errors and the clock are asked under no lock, on the thread on which the
/// event happened. All methods can be called from any thread.
///
/// - Complexity: O(1) an event; memory for `limit` events.
public final class FutureLog: Sendable {
  private let buffer: Locked<EventBuffer>
  private let now: @Sendable () -> Duration
  private let start: Duration
  private let lastNumber = Atomic(0)
  private let lastFuture = Atomic(0)

  init(limit: Int, now: @escaping @Sendable () -> Duration) {
    buffer = Locked(EventBuffer(limit: limit))
    self.now = now
    start = now()
  }

  /// The latest events, in the order in which they happened.
  public var events: [FutureEvent] { buffer.value.inOrder }

  /// How many events did not fit any more.
  public var droppedCount: Int { buffer.withLock { $0.dropped } }

  /// Both at one moment.
  var contents: (events: [FutureEvent], dropped: Int) {
    let buffer = buffer.value
    return (buffer.inOrder, buffer.dropped)
  }

  /// Returns a number for an event that happens now. It may be called under a lock, so that the order of the numbers is the order
  /// of the events.
  func takeNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

  /// Returns a number for a future that is new here.
  func takeFuture() -> Int { lastFuture.add(1, ordering: .relaxed).newValue }

  /// Keeps an event. Called under no lock.
  func record(_ fact: FutureEvent.Fact, of future: Int, named name: String, number: Int) {
    LockRule.assertNoLockIsHeld()
    let event = FutureEvent(
      number: number, nanoseconds: (now() - start).wholeNanoseconds, future: future, name: name, fact: fact)
    buffer.withLock { $0.append(event) }
  }
}

extension Duration {
  /// As far as 292 years.
  fileprivate var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (nanoseconds, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLongBySum) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isTooLongBySum ? (seconds < 0 ? .min : .max) : sum
  }
}
