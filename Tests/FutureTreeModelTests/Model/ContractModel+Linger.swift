// Law 24 (lingering).

extension ContractModel {
  mutating func linger(_ future: Int) {
    nodes[future].isShared = true
    guard nodes[future].outcome == nil, nodes[future].linger == .none else { return }
    nodes[future].linger = .hasInterest
    nodes[future].interest += 1
  }

  /// Stops the timer for a new consumer.
  mutating func renewLinger(of future: Int) {
    guard mistake != .ignoresNewConsumersWhileLingering else { return }
    if nodes[future].linger == .over { nodes[future].interest += 1 }
    if nodes[future].linger != .none { nodes[future].linger = .hasInterest }
  }

  /// Ends the interest of a future in itself if nothing delays its request: the request was forced, and no other consumer has
  /// interest.
  mutating func endLinger(of future: Int, for arrival: Arrival) {
    let isOnlyInterest = nodes[future].interest == arrival.askers + 1
    guard nodes[future].linger.counts, isOnlyInterest else { return }
    guard arrival.request?.endsLinger == true || withholdsEndOfLinger(future) else { return }
    tally[.lingering] += 1
    nodes[future].linger = .over
    nodes[future].interest -= 1
  }

  /// Whether a withheld request that will be delivered ends the linger.
  func withholdsEndOfLinger(_ future: Int) -> Bool {
    guard let withheld = nodes[future].withheld else { return false }
    return withheld.endsLinger && withheld.isStronger(than: nodes[future].asked)
  }

  /// Starts the timer when the last consumer has withdrawn.
  mutating func scheduleLinger(of future: Int, after arrival: Arrival) {
    guard arrival.request != nil || arrival.hasLost else { return }
    guard nodes[future].linger == .hasInterest, nodes[future].interest == 1 else { return }
    tally[.lingering] += 1
    nodes[future].linger = .isScheduled
  }

  /// Lets the timer end: the future withdraws its own interest, and the withheld request is delivered.
  mutating func endLinger(_ future: Int) {
    guard nodes[future].outcome == nil, nodes[future].linger == .isScheduled else { return }
    nodes[future].linger = .over
    _ = propagation([Start(node: future, request: nil, detaches: true)])
  }
}
