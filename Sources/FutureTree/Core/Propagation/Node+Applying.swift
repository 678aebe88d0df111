/// What a propagation most often does to one future, in one short locked section: see `Node+Signals.swift` for all cases.
extension Node {
  /// What a request does in the common case. It is plain bits, with a reference that the receiver of this releases.
  enum Application {
    /// It goes on to the one future that this one waits for.
    case forwards(to: Unmanaged<Node>)
    /// The handlers of this source receive it.
    case callsHandlers
    /// This future has ended, and what it waited for receives a signal.
    case ends(upstream: Unmanaged<Node>)
    /// This source has ended.
    case endsSource
    /// It stops here, because others have interest, and the sender is no longer a consumer.
    case withheld
    /// Nothing has happened: this is another case.
    case none
  }

  /// `receive` in the common case: the request has at most one sender.
  ///
  /// - Parameters:
  ///   - isAlone: Whether no other signal of the propagation can come here. Otherwise this future must be no meeting point.
  ///   - details: Receives what more is known. It is no part of the result, so that this is one word.
  @inline(__always)
  func applyAtOnce(
    _ request: CancelRequest, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, isAlone: Bool,
    _ details: inout ApplicationDetails
  ) -> Application {
    if state.createdBy.isJoin { return .none }
    return lock.withLock {
      // The state of a future that has ended does not change any more: other code reads it without the lock.
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

  /// What `applyAtOnce` finds out besides.
  struct ApplicationDetails {
    /// This future has ended and still has its body.
    var ownsBody = false
    /// How many other consumers the future has where the request was withheld.
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

  /// Whether several entries may send signals.
  var mayBeMeetingPoint: Bool { lock.withLock { state.isPending && isMeetingPoint } }

  /// The same. Called under the lock.
  @inline(__always)
  final var isMeetingPoint: Bool { waiters.hasSeveral }
}
