/// A signal of a propagation. `SignalQueue` retains the objects that it refers to.
struct QueuedSignal {
  let node: Unmanaged<Node>
  let unretainedRequest: CancelRequest.Unretained?
  let sender: Unmanaged<Waiter>?
  fileprivate let retainsSender: Bool
  let departure: Signal.Departure
  /// The position in `CancellationPropagation.reached` of the future that forwards the request, or `nil` where the propagation
  /// starts.
  let predecessor: Int?

  var request: CancelRequest? { unretainedRequest.map(\.request) }

  /// The future on whose behalf the signal was sent.
  var owner: Node? { sender?._withUnsafeGuaranteedRef { $0.owner } }
}

/// The signals of a propagation, first in, first out, and the objects that the propagation refers to.
///
/// Counting references at each step would cost more than the step. The structures of a propagation are therefore plain bits
/// with unretained references.
///
/// # Invariants
/// 1. An object to which a `QueuedSignal` or a `CancellationPropagation.Reached` refers is retained here, by a signal, in
///    `retained` or in `retainedSlots`, until the queue is freed. The propagation retains the queue to its end.
/// 2. A queue belongs to one thread. That thread frees objects only while it holds no lock.
final class SignalQueue {
  /// Includes the signals that were taken, because they retain their futures and some of their senders.
  @exclusivity(unchecked) private var signals: [QueuedSignal] = []
  @exclusivity(unchecked) private var taken = 0
  @exclusivity(unchecked) private var retained: [AnyObject] = []
  @exclusivity(unchecked) private var retainedSlots: [[Join.Slot]] = []
  /// The reports of monitors. They run after the first phase, because the clock of a log is user code.
  @exclusivity(unchecked) var reports: [Node.AfterLock] = []

  deinit {
    for signal in signals {
      signal.node.release()
      if signal.retainsSender { signal.sender?.release() }
    }
  }

  /// Reserves memory for `count` signals and a few more.
  ///
  /// The memory at least doubles: `reserveCapacity` alone would copy all signals at each join of a chain of joins.
  func reserve(_ count: Int) {
    let needed = signals.count + count + 16
    if needed > signals.capacity { signals.reserveCapacity(max(needed, 2 * signals.capacity)) }
  }

  /// Adds a signal.
  func append(_ signal: Signal) {
    if let request = signal.request { retained.append(request.object) }
    signals.append(
      QueuedSignal(
        node: .passRetained(signal.node), unretainedRequest: signal.request?.unretained,
        sender: signal.sender.map { .passRetained($0) }, retainsSender: true, departure: signal.departure,
        predecessor: nil))
  }

  /// Adds a signal whose request and sender are already retained. The queue takes over the caller's reference to the node.
  @inline(__always)
  func append(
    toRetained node: Unmanaged<Node>, _ request: CancelRequest.Unretained?, from sender: Unmanaged<Waiter>,
    _ departure: Signal.Departure, predecessor: Int?
  ) {
    signals.append(
      QueuedSignal(
        node: node, unretainedRequest: request, sender: sender, retainsSender: false, departure: departure,
        predecessor: predecessor))
  }

  /// Returns a signal that was received before this queue existed, and retains the objects that it refers to.
  func received(_ signal: Signal, predecessor: Int?) -> QueuedSignal {
    if let request = signal.request { retained.append(request.object) }
    if let sender = signal.sender { retained.append(sender) }
    retained.append(signal.node)
    return QueuedSignal(
      node: .passUnretained(signal.node), unretainedRequest: signal.request?.unretained,
      sender: signal.sender.map { .passUnretained($0) }, retainsSender: false, departure: signal.departure,
      predecessor: predecessor)
  }

  func retain(_ object: AnyObject) {
    retained.append(object)
  }

  func retain(_ slots: [Join.Slot]) {
    retainedSlots.append(slots)
  }

  @inline(__always)
  func popFirst() -> QueuedSignal? {
    guard taken < signals.count else { return nil }
    taken += 1
    return signals[taken - 1]
  }

  /// Takes the remaining signals. If the last signal taken was `refused`, it is the first of them.
  ///
  /// The signals are copied. A slice would share the memory of the queue, and the next append would copy all of it.
  func takeAll(refused: Bool) -> [QueuedSignal] {
    let start = refused ? taken - 1 : taken
    taken = signals.count
    return Array(signals[start...])
  }
}

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
