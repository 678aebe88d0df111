// What a `FutureState` is told, and what it answers.

extension FutureState {
  /// What comes to a future from its consumers, or from nobody.
  struct Arrival {
    /// What is asked, if anything is.
    var request: CancelRequest?
    /// How many of its consumers it comes from.
    var askers = 0
    /// How many of those do not want the value any more.
    var leavers = 0
  }

  /// What an arrival met, and how it goes on upstream.
  struct Landing {
    /// What the request met; nil where nothing was asked.
    var reception: Reception?
    /// No asker counts as a consumer any more, because the request stopped here.
    var uncountsAll = false
    /// What this future waits for must hear of it.
    var goesOn = false
    /// What they are asked, if anything.
    var forwarded: CancelRequest?
    /// What becomes of this future's interest in them.
    var departure = CancellationPropagation.Departure.stays
  }

  /// What a request meets at one future.
  enum Reception {
    case tooLate(Ending)
    /// Nothing new: it was asked at least as strongly before.
    case duplicate
    /// The same at a source without a handler so far: the earlier request is stored there.
    case storedBefore
    case withheld(others: Int)
    case applied(CancelRequest, Effect)
  }

  /// What a future does with a request that was applied to it.
  enum Effect: Equatable {
    /// Its handlers get the request, and it goes on waiting.
    case callsHandlers
    /// What it waits for gets the request, and it goes on waiting.
    case forwards
    /// Nobody can be asked now. An inner future, or the body's end, will find the request.
    case stores
    /// It ends `.cancelled` now and lets go of what it waits for, which is asked unless the request is not forwarded.
    case ends
    /// It ends now because its body will not run: with the failure that upstream ended with, or `.cancelled`.
    case skipsBody
  }

  /// What a derived future does once its upstream has ended.
  enum Start: Equatable {
    /// It ended before.
    case gone
    /// It takes over the outcome of upstream.
    case passes
    /// It ends `.cancelled`: the body would have run, but its future was asked to cancel first.
    case cancels
    /// The body runs now.
    case runs
    /// The body goes to its executor.
    case queues
  }
}
