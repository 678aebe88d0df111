/// The interest that a future has in itself while it lingers. Law 24 (lingering).
extension FutureState {
  /// The number of consumers, without the future's own interest.
  var otherConsumers: Int { Int(consumers) - (marks[.hasOwnInterest] ? 1 : 0) }

  /// Whether the future's own interest is the only interest in it.
  var isOnlyLingering: Bool { marks[.hasOwnInterest] && consumers == 1 }

  /// Whether no consumer but the senders has interest, and a request is not delayed.
  func endsOwnInterest(_ request: CancelRequest?, senders: Int) -> Bool {
    marks[.hasOwnInterest] && Int(consumers) == senders + 1
      && (request?.endsLinger == true || requests.withheld?.endsLinger == true)
  }

  mutating func beginOwnInterest() {
    guard !marks[.hasOwnInterest] else { return }
    marks.insert([.lingers, .hasOwnInterest])
    consumers += 1
  }

  mutating func endOwnInterest() {
    guard marks[.hasOwnInterest] else { return }
    marks.remove(.hasOwnInterest)
    consumers -= 1
  }

  /// Records that the entry of the `Linger` has sent a signal with which it departed.
  mutating func ownInterestDeparted() { marks.remove(.hasOwnInterest) }
}
