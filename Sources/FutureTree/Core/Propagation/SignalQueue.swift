/// A signal of a propagation, which retains what it refers to (`SignalQueue`).
struct QueuedSignal {
  let node: Unmanaged<Node>
  let unretainedRequest: CancelRequest.Unretained?
  let sender: Unmanaged<Waiter>?
  fileprivate let retainsSender: Bool
  let departure: Signal.Departure
  /// The position of the future that forwards the request, among those that the propagation has reached; nil where it starts.
  let predecessor: Int?

  var request: CancelRequest? { unretainedRequest.map(\.request) }

  /// The future on whose behalf it was sent.
  var owner: Node? { sender?._withUnsafeGuaranteedRef { $0.owner } }
}

/// The signals of a propagation, first in, first out, and all that the propagation refers to.
///
/// To count references at each step costs more than the step. So the structures of a propagation consist of plain bits with
/// references that are not counted.
///
/// # Invariants
/// 1. An object to which a `QueuedSignal` or a `CancellationPropagation.Reached` refers is retained here, by a signal or in
///    `retained`, until the queue is freed. The propagation retains the queue to its end.
/// 2. A queue belongs to one thread. Objects are freed when that holds no lock.
final class SignalQueue {
  /// Also those that were taken: they retain their futures, and some their senders.
  @exclusivity(unchecked) private var signals: [QueuedSignal] = []
  @exclusivity(unchecked) private var taken = 0
  @exclusivity(unchecked) private var retained: [AnyObject] = []
  @exclusivity(unchecked) private var retainedSlots: [[Join.Slot]] = []
  /// Called after the first phase: the clock of a log is code of a user.
  @exclusivity(unchecked) var reports: [NodeMonitor.Report] = []

  deinit {
    for signal in signals {
      signal.node.release()
      if signal.retainsSender { signal.sender?.release() }
    }
  }

  /// Prepares for so many signals, and a few that follow.
  func reserve(_ count: Int) {
    signals.reserveCapacity(signals.count + count + 16)
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

  /// Adds a signal, whose request and sender are retained already. The queue gets a reference to the node that the caller has.
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

  /// Returns a signal that was received before this queue was made, and retains what it refers to.
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

  /// Takes the signals that are left. The last that was taken is the first of them, if it is `refused`.
  func takeAll(refused: Bool = false) -> ArraySlice<QueuedSignal> {
    let start = refused ? taken - 1 : taken
    taken = signals.count
    return signals[start...]
  }
}
