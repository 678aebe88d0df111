/// A cancellation request or the withdrawal of interest that one future receives, from one of its consumers or from no
/// consumer.
struct Signal {
  /// The change of the sender's interest.
  enum Departure {
    /// The sender waits for the outcome and remains a consumer.
    case stays
    /// The sender still waits, but is no longer a consumer. Law 10 (one consumer, one count).
    case losesInterest
    /// The sender no longer waits, and is removed from the list if it is in it.
    case leaves
  }

  /// The future that receives the signal.
  let node: Node
  var request: CancelRequest?
  /// The consumer that sends the signal: an entry in the list of `node`, or a token.
  var sender: Waiter?
  var departure = Departure.stays

  /// Returns the number of consumers that send a signal and the number of them that depart. Called under the receiver's lock.
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

  /// Creates the signals of one future. Returns nil if the signals are to several futures.
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

  /// The strongest request of these signals.
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

  /// The number of senders that are counted as consumers now, and the number of them that depart. Called under the lock of
  /// `node`.
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
