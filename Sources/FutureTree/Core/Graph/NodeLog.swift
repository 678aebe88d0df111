/// Receives the events of the futures that are in it.
///
/// It is how `FutureLog` observes the graph, which does not know it.
protocol NodeLog: AnyObject, Sendable {
  /// Returns the first of so many numbers for events that happen now. It may be called under a lock, so that the order of
  /// the numbers is the order of the events.
  func takeNumbers(_ count: Int) -> Int

  /// Returns a number for a future that is new here.
  func takeFuture() -> Int

  /// Keeps an event. It is called under no lock.
  func record(_ fact: FutureEvent.Fact, of future: Int, named name: String, number: Int)
}

extension NodeLog {
  func takeNumbers() -> Int { takeNumbers(1) }
}

/// What a future that is in a log knows of it. It dies with its future.
final class LogMembership: @unchecked Sendable {  // Because: the lock of the future guards what changes.
  let log: any NodeLog
  let future: Int
  var name: String
  /// The number of the first event, where the operator that made the future records that.
  var firstNumber = 0
  /// The number of its end.
  var endNumber: Int?

  init(_ log: any NodeLog, name: String) {
    self.log = log
    future = log.takeFuture()
    self.name = name
  }

  deinit {
    log.record(.released, of: future, named: name, number: log.takeNumbers())
  }

  /// An event that happens now. Called under the lock of the future.
  func note(_ fact: FutureEvent.Fact) -> LogNote {
    LogNote(self, name: name, number: log.takeNumbers(), fact)
  }
}

/// An event that was numbered under the lock of its future, and is recorded when that was released.
final class LogNote: Sendable {
  private let membership: LogMembership
  private let name: String
  private let number: Int
  private let fact: FutureEvent.Fact

  init(_ membership: LogMembership, name: String, number: Int, _ fact: FutureEvent.Fact) {
    self.membership = membership
    self.name = name
    self.number = number
    self.fact = fact
  }

  func record() {
    membership.log.record(fact, of: membership.future, named: name, number: number)
  }
}
