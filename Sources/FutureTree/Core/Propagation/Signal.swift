/// A request to cancel, or the end of an interest, that one future receives from one of its consumers, or from no consumer.
struct Signal {
  /// What becomes of the sender's interest.
  enum Departure {
    /// The sender waits for the outcome and remains a consumer.
    case stays
    /// It still waits, but is no longer a consumer (law 10).
    case losesInterest
    /// It no longer waits: it is taken out of the list, if it is there.
    case leaves
  }

  /// The future that receives it.
  let node: Node
  var request: CancelRequest?
  /// The consumer that sends it: an entry in the list of `node`, or a token.
  var sender: Waiter?
  var departure = Departure.stays

  /// How many consumers send a signal, and how many depart with it. Called under the lock of the future that receives it.
  @inline(__always)
  static func count(_ sender: Unmanaged<Waiter>?, _ departure: Departure) -> (all: Int, departing: Int) {
    guard let sender, sender._withUnsafeGuaranteedRef({ $0.isCounted }) else { return (0, 0) }
    return (1, departure == .stays ? 0 : 1)
  }
}

/// A signal of a propagation, which retains what it refers to (`SignalQueue`).
struct QueuedSignal {
  let node: Unmanaged<Node>
  fileprivate let unretainedRequest: CancelRequest.Unretained?
  let sender: Unmanaged<Waiter>?
  let departure: Signal.Departure
  /// The position of the future that forwards the request, among those that the propagation has reached; nil where it starts.
  let predecessor: Int?

  var request: CancelRequest? { unretainedRequest.map(\.request) }

  /// The future on whose behalf it was sent.
  var owner: Node? { sender?._withUnsafeGuaranteedRef { $0.owner } }
}

/// The signals of a propagation that no future has received yet, and all that the propagation refers to.
///
/// To count references at each step costs more than the step. So the structures of a propagation consist of plain bits with
/// references that are not counted.
///
/// # Invariants
/// 1. An object to which a `QueuedSignal` or a `CancellationPropagation.Reached` refers is retained here once, until the queue is
///    freed, which the propagation retains to its end.
/// 2. A queue belongs to one thread. Objects are freed when that holds no lock.
final class SignalQueue {
  @exclusivity(unchecked) private var waiting: [QueuedSignal] = []
  @exclusivity(unchecked) private var retained: [AnyObject] = []
  /// Called after the first phase: the clock of a log is code of a user.
  @exclusivity(unchecked) var reports: [NodeMonitor.Report] = []

  /// Adds a signal.
  func append(_ signal: Signal) {
    waiting.append(retaining(signal, predecessor: nil))
  }

  /// Adds a signal whose request and sender are retained already.
  @inline(__always)
  func append(
    to node: Node, _ request: CancelRequest.Unretained?, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure,
    predecessor: Int?
  ) {
    retained.append(node)
    waiting.append(
      QueuedSignal(
        node: .passUnretained(node), unretainedRequest: request, sender: sender, departure: departure,
        predecessor: predecessor))
  }

  /// Retains what a signal refers to.
  func retaining(_ signal: Signal, predecessor: Int?) -> QueuedSignal {
    retained.append(signal.node)
    if let sender = signal.sender { retained.append(sender) }
    if let request = signal.request { retained.append(request.object) }
    return QueuedSignal(
      node: .passUnretained(signal.node), unretainedRequest: signal.request?.unretained,
      sender: signal.sender.map { .passUnretained($0) }, departure: signal.departure, predecessor: predecessor)
  }

  func retain(_ object: AnyObject) {
    retained.append(object)
  }

  /// Takes out the signals, in the order in which they came.
  func takeAll() -> [QueuedSignal] {
    defer { waiting = [] }
    return waiting
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

  /// Returns nil if the signals are to several futures.
  init?(ifToOneFuture signals: ArraySlice<QueuedSignal>) {
    guard let first = signals.first, signals.allSatisfy({ $0.node.toOpaque() == first.node.toOpaque() }) else {
      return nil
    }
    node = first.node
    all = Array(signals)
  }

  mutating func append(_ signal: QueuedSignal) {
    all.append(signal)
  }

  /// The strongest request among them.
  var request: CancelRequest? {
    var strongest: CancelRequest?
    for signal in all {
      guard let request = signal.request else { continue }
      if let strongest, request.isSame(as: strongest) || !request.isStronger(than: strongest) { continue }
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
