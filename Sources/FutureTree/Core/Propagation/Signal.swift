/// A request to cancel, or the end of an interest, that one future receives from one of its consumers, or from no consumer.
struct Signal {
  /// What becomes of the sender's interest.
  enum Departure {
    /// The sender waits for the outcome and remains a consumer.
    case stays
    /// It still waits, but is no longer a consumer (law 10).
    case losesInterest
    /// It no longer waits, or its token has withdrawn: it is taken out of the list, if it is there.
    case leaves
  }

  /// The future that receives it.
  let node: Node
  var request: CancelRequest?
  /// The consumer that sends it: an entry in the list of `node`, or a token.
  var sender: Waiter?
  var departure = Departure.stays
  /// The position of the future that forwards the request, among those that the propagation has reached; nil where it starts.
  var predecessor: Int?
}

/// All signals of a propagation to one future.
struct Signals {
  let node: Node
  private(set) var all: TinyArray<Signal>

  init(_ first: Signal) {
    node = first.node
    all = TinyArray(first)
  }

  mutating func append(_ signal: Signal) {
    all.append(signal)
  }

  /// The strongest request among them.
  var request: CancelRequest? {
    if all.others.isEmpty { return all.first?.request }
    var strongest: CancelRequest?
    for signal in all {
      guard let request = signal.request else { continue }
      strongest = strongest.map { request.isStronger(than: $0) ? request : $0 } ?? request
    }
    return strongest
  }

  /// The positions of the futures that forward the request.
  var predecessors: TinyArray<Int> {
    if all.others.isEmpty { return TinyArray(all.first?.predecessor) }
    return TinyArray(all.compactMap(\.predecessor))
  }

  /// How many of their senders are counted as consumers now, and how many of these depart. Called under the lock of `node`.
  var countedSenders: (all: Int, departing: Int) {
    var counted = (all: 0, departing: 0)
    all.each { signal in
      guard signal.sender?.isCounted == true else { return }
      counted.all += 1
      if signal.departure != .stays { counted.departing += 1 }
    }
    return counted
  }
}
