/// The common cases of a propagation at one future, in one short locked section. `Node+Signals.swift` has all cases.
extension Node {
  /// The effect of a request in the common case. The value is plain bits. The caller releases the reference in it.
  enum Application {
    /// The request is forwarded to the one future that this one waits for.
    case forwards(to: Unmanaged<Node>)
    /// The handlers of this source receive it.
    case callsHandlers
    /// This future has ended. The future that it waited for receives a signal.
    case ends(upstream: Unmanaged<Node>)
    /// This source has ended.
    case endsSource
    /// The request was withheld, because other consumers have interest. The sender is no longer a consumer.
    case withheld
    /// No common case. Nothing has changed.
    case none
  }

  /// Performs `receive` in the common case: the request has at most one sender.
  ///
  /// - Parameters:
  ///   - isAlone: Whether no other signal of the propagation can reach this future. If false, a meeting point returns `.none`.
  ///   - details: Receives further results. They are not part of the return value, so that it is one word.
  @inline(__always)
  func applyAtOnce(
    _ request: CancelRequest, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, isAlone: Bool,
    _ details: inout ApplicationDetails
  ) -> Application {
    if state.createdBy.isJoin { return .none }
    return lock.withLock {
      // The state of a future that has ended must not change: other code reads it without the lock.
      guard state.isPending, isAlone || !isMeetingPoint else { return .none }
      let upstream = upstream
      let senders = Signal.count(sender, .stays).all
      guard upstream != nil || state.createdBy.isSource,
        let effect = state.appliesAtOnce(request, senders: senders, depart: departure != .stays)
      else { return withholdAtOnce(request, from: sender, senders, departure, &details) ? .withheld : .none }
      switch effect {
      case .forwards:
        return upstream.map { .forwards(to: $0.retain()) } ?? .none
      case .ends:
        return endAtOnce(request, &details)
      default:
        depart(sender, departure)
        return .callsHandlers
      }
    }
  }

  /// Further results of `applyAtOnce`.
  struct ApplicationDetails {
    /// This future has ended and still has its body.
    var ownsBody = false
    /// The number of other consumers, if the request was withheld.
    var others = 0
  }

  @inline(never)
  private func endAtOnce(_ request: CancelRequest, _ details: inout ApplicationDetails) -> Application {
    details.ownsBody = ownsBody
    let left = upstream?.retain()
    _ = endCancelled(request.reason)
    return left.map { .ends(upstream: $0) } ?? .endsSource
  }

  @inline(never)
  private func withholdAtOnce(
    _ request: CancelRequest, from sender: Unmanaged<Waiter>?, _ senders: Int, _ departure: Signal.Departure,
    _ details: inout ApplicationDetails
  ) -> Bool {
    guard let others = state.withholdsAtOnce(request, senders: senders) else { return false }
    details.others = others
    depart(sender, departure, uncounts: true)
    return true
  }

  /// Whether this future is pending, and several entries may send signals.
  var mayBeMeetingPoint: Bool { lock.withLock { state.isPending && isMeetingPoint } }

  /// Whether several entries may send signals. Called under the lock.
  @inline(__always)
  final var isMeetingPoint: Bool { waiters.hasSeveral }
}
