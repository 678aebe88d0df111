import FutureTree

/// Cancels the loads that are under way when the chain is reset, and waits for them.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> URLSessionLoader()
/// api.reset()  // Every load ends `.cancelled`, and then what comes behind is reset.
/// ```
///
/// **Reset.** Each load that it let through is cancelled, as by `cancel()`, and awaited; only then the next loader is reset,
/// so that nothing of the time before comes to a loader that has been wiped. A load that has not ended when `drainTimeout`
/// has passed is cancelled again, with `forceImmediately`. A success that was faster stays one. A load whose caller has
/// forced its end, or let go of it, counts until the next loader is done with it. Loads that come during the reset are not
/// part of it: a `ResetGuard` before this layer refuses them.
///
/// **Cancellation.** It holds nothing back: a request to cancel goes to the loader that has the load. A load that a reset
/// finds before it has gone on does not go on.
///
/// **In two chains** a reset of either cancels the loads of both.
public final class Autocancel: HTTPLayer {
  private struct Loads {
    var next = 0
    var live: [Int: Future<HTTPResponse>] = [:]

    mutating func insert(_ future: Future<HTTPResponse>) -> Int {
      defer { next += 1 }
      live[next] = future
      return next
    }
  }

  private let loads = Locked(Loads())
  private let drainTimeout: Duration?
  private let clock: any FutureClock

  /// - Parameters:
  ///   - drainTimeout: how long a reset waits for loads that were cancelled before it forces them; five seconds if nothing
  ///     else is said, nil for ever, and zero or less not at all.
  ///   - clock: what measures that.
  public init(drainTimeout: Duration? = .seconds(5), clock: any FutureClock = .system) {
    self.drainTimeout = drainTimeout
    self.clock = clock
  }

  /// Loads, and remembers it until it has ended.
  ///
  /// - Returns: a future that takes the outcome of `next`. It is not the one that a reset cancels and awaits: who marks it
  ///   as `shared()`, forces it or lets go of it does not hide the load from a reset.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    let future = promise.future.named(.trackedLoad)
    let number = loads.withLock { $0.insert(future) }
    future.observe { _ in
      // What is removed is freed outside the lock.
      _ = self.loads.withLock { $0.live.removeValue(forKey: number) }
    }
    if promise.cancelRequest == nil {
      promise.seal(onto: next.load(request))
    } else {
      promise.complete(.cancelled)
    }
    return future.forwarded().named(.autocancel)
  }

  /// Cancels what is under way, waits for it, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let live = loads.withLock { $0.live.sorted { $0.key < $1.key }.map(\.value) }
    guard !live.isEmpty else { return next.reset() }
    // In one propagation: each load knows of it before the end of another makes room for it.
    Future.allSettled(live).cancel(reason: "the chain was reset")
    let timer = drainTimeout.map { timeout in
      clock.schedule(after: timeout) {
        for load in live {
          load.cancel(.forceImmediately, reason: "the chain was reset, and this load did not end in time")
        }
      }
    }
    return Future.allSettled(live).ensure { timer?.cancel() }.flatMap { _ in next.reset() }.shielded()
  }
}

extension FutureName {
  fileprivate static let autocancel = FutureName("Autocancel")
  fileprivate static let trackedLoad = FutureName("tracked load")
}
