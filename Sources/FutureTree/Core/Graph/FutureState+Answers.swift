// The results of `FutureState`: transitions, dispositions, effects and starts.

extension FutureState {
  /// The changes that signals made at one future. Retains nothing in the common case.
  struct Transition {
    /// The disposition of the request, or `nil` if there was none.
    var disposition: Disposition?
    /// The request stopped here, so its senders are no longer counted as consumers.
    var uncountsAll = false
    /// The departure in the signals to the futures that this one waits for, or `nil` if they receive no signal.
    var onward: Signal.Departure?
    /// Whether those futures also receive the request.
    var forwards = false
    /// The request that is applied, and the request that is forwarded upstream. `nil` if both are the received request.
    var delivered: Delivered?

    /// A class, so that the common case copies one word.
    final class Delivered: Sendable {
      let applied: CancelRequest
      let forwarded: CancelRequest

      init(applied: CancelRequest, forwarded: CancelRequest) {
        self.applied = applied
        self.forwarded = forwarded
      }
    }

    /// Returns the request that takes effect, if any.
    func applied(_ request: CancelRequest?) -> CancelRequest? { delivered?.applied ?? request }

    /// Returns the request that the futures that this one waits for receive, if any.
    func forwarded(_ request: CancelRequest?) -> CancelRequest? {
      forwards ? (delivered?.forwarded ?? request)?.forwarded : nil
    }
  }

  /// The decision of one future about a request.
  enum Disposition: Equatable {
    case tooLate(Ending)
    /// The future received a request that was at least as strong before.
    case duplicate
    /// A duplicate at a source without a handler: the earlier request is stored there.
    case storedBefore
    /// No other consumer means that the future lingers. Law 24 (lingering).
    case withheld(others: Int)
    case applied(Effect)
  }

  /// The effect of a request that is applied to a future.
  enum Effect: Equatable {
    /// The handlers of the source receive the request. The future stays pending.
    case callsHandlers
    /// The futures that it waits for receive the request. The future stays pending.
    case forwards
    /// No other future receives the request now. A future that the body returns receives it when it is linked. A clean-up never
    /// receives it. Law 8 (no request is lost).
    case stores
    /// The future ends as `.cancelled` now and detaches from the futures that it waits for. They receive the request, unless it
    /// is not forwarded.
    case ends
    /// The future ends now because its body will not run: with the failure of its upstream, or `.cancelled`.
    case skipsBody
  }

  /// The reaction of a derived future to the end of its upstream.
  enum Start: Equatable {
    /// No reaction: the future ended before.
    case gone
    /// It ends with the outcome of its upstream.
    case passes
    /// It ends as `.cancelled`, because it received a request before its body began.
    case cancels
    /// The body runs now.
    case runs
    /// The body is submitted to its executor.
    case queues
  }
}
