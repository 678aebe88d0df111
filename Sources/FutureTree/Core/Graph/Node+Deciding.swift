/// Law 23 (deciding detaches): a future that ends before all its inputs detaches from the remaining ones.
extension Node {
  /// Ends, and then detaches from the futures that this one still waits for.
  ///
  /// - Parameters:
  ///   - reason: The reason for the request to the remaining futures.
  ///   - end: Ends this future, under its lock. Returns false if it had ended.
  final func decide(because reason: @autoclosure () -> CancellationReason, _ end: () -> Bool) -> Bool {
    let left = lock.withLock { () -> LeftInputs? in
      guard state.isPending else { return nil }
      let inputs = inputsToLeave
      return end() ? inputs : nil
    }
    guard let left else { return false }
    left.leave(because: reason())
    return true
  }
}

/// The futures that a future still waits for when it is decided, and the entries that wait.
///
/// A join may have thousands of inputs, most of which have already ended. Therefore, only references to pending inputs are
/// counted. `slots` keeps the slots alive. Any other entry is the decided future itself, which the caller keeps alive.
final class LeftInputs {
  private var inputs: [(node: Unmanaged<Node>, entry: Unmanaged<Waiter>)] = []
  private let slots: [Join.Slot]

  /// - Parameter slots: The entries, if they are slots.
  init(capacity: Int, slots: [Join.Slot] = []) {
    self.slots = slots
    inputs.reserveCapacity(capacity)
  }

  deinit {
    for input in inputs { input.node.release() }
  }

  @inline(__always)
  func append(_ node: Unmanaged<Node>, _ entry: Unmanaged<Waiter>) {
    inputs.append((node.retain(), entry))
  }

  /// Withdraws the interest of the entries, with a request that stops where other consumers wait.
  func leave(because reason: @autoclosure () -> CancellationReason) {
    var request: CancelRequest?
    var signals: [Signal] = []
    for input in inputs {
      // A request to a future that has ended would be too late.
      guard input.node._withUnsafeGuaranteedRef({ $0.ending == nil }) else { continue }
      if request == nil { request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason()) }
      signals.append(
        Signal(
          node: input.node.takeUnretainedValue(), request: request, sender: input.entry.takeUnretainedValue(),
          departure: .leaves))
    }
    CancellationPropagation.run(signals)
  }
}
