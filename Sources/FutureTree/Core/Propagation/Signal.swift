/// A request to cancel, or the end of an interest, that one future receives from one of its consumers, or from no consumer.
struct Signal {
  /// What becomes of the sender's interest.
  enum Departure {
    /// The sender waits for the outcome and remains a consumer.
    case stays
    /// It still waits, but is no longer a consumer (law 10).
    case losesInterest
    /// It no longer waits, and is removed from the list if it is there.
    case leaves
  }

  /// The future that receives it.
  let node: Node
  var request: CancelRequest?
  /// The consumer that sends it: an entry in the list of `node`, or a token.
  var sender: Waiter?
  var departure = Departure.stays

  /// Returns how many consumers send a signal, and how many of them depart. Called under the lock of the future that receives it.
  @inline(__always)
  static func count(_ sender: Unmanaged<Waiter>?, _ departure: Departure) -> (all: Int, departing: Int) {
    guard let sender, sender._withUnsafeGuaranteedRef({ $0.isCounted }) else { return (0, 0) }
    return (1, departure == .stays ? 0 : 1)
  }
}

/// All signals of a propagation to one future.
struct Signals {
  let node: Unmanaged<Node>
  private(set) var all: [QueuedSignal]

  init(_ first: QueuedSignal) {
    node = first.node
    all = [first]
  }

  /// Creates the signals of one future. Returns nil if they are to several futures.
  init?(ifToOneFuture signals: [QueuedSignal]) {
    guard let first = signals.first, signals.allSatisfy({ $0.node.toOpaque() == first.node.toOpaque() }) else {
      return nil
    }
    node = first.node
    all = signals
  }

  mutating func append(_ signal: QueuedSignal) {
    all.append(signal)
  }

  /// The strongest request among them.
  var request: CancelRequest? {
    var strongest: CancelRequest?
    var last: CancelRequest.Unretained?
    for signal in all where signal.unretainedRequest != last {
      last = signal.unretainedRequest
      guard let request = signal.request else { continue }
      if let strongest, !request.isStronger(than: strongest) { continue }
      strongest = request
    }
    return strongest
  }

  /// How many of their senders are counted as consumers now, and how many of these depart. Called under the lock of `node`.
  var countedSenders: (all: Int, departing: Int) {
    var counted = (all: 0, departing: 0)
    for signal in all {
      let one = Signal.count(signal.sender, signal.departure)
      counted.all += one.all
      counted.departing += one.departing
    }
    return counted
  }
}
