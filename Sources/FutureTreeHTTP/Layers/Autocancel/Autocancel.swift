import FutureTree

/// A layer that cancels all loads in flight when the chain is reset, and waits for them.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> URLSessionLoader()
/// api.reset()  // Every load completes as `.cancelled`. Then the loaders after the layer are reset.
/// ```
///
/// **Reset.** A reset cancels every load and every stream in flight, as if by `cancel()`, and waits for it. Only then is the
/// next loader reset, so that no earlier load reaches a loader that has been reset.
///
/// - If a load has not completed after `drainTimeout`, it is cancelled again with `.forceImmediately`.
/// - If a load succeeds before it reacts to the cancellation, its result is kept.
/// - If a caller forced its load to complete or detached from it, the reset still waits until the next loader has
///   completed the load.
/// - Loads that begin during the reset are not part of it. A `ResetGuard` before this layer refuses them.
///
/// **Cancellation.** The layer holds no requests: a cancellation request is forwarded to the loader that holds the
/// request. If a reset cancels a load before the layer has forwarded it, the load is not forwarded.
///
/// **In two chains.** A reset of either chain cancels the loads of both.
public final class Autocancel: HTTPLayer {
  private struct Loads {
    var next = 0
    var live: [Int: (request: HTTPRequest, future: Future<HTTPResponse>)] = [:]
    /// The transfers of streams whose loads have completed.
    var transfers: [Int: (request: HTTPRequest, future: Future<Void>)] = [:]

    mutating func insert(_ request: HTTPRequest, _ future: Future<HTTPResponse>) -> Int {
      defer { next += 1 }
      live[next] = (request, future)
      return next
    }

    /// Returns the transfers of loads, in order.
    func streams(of numbers: some Sequence<Int>) -> [Future<Void>] {
      numbers.sorted().compactMap { transfers[$0]?.future }
    }
  }

  private let loads = Locked(Loads())
  private let drainTimeout: Duration?
  private let clock: any FutureClock

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - drainTimeout: The time that a reset waits for cancelled loads before it forces them to complete. Defaults to 5
  ///     seconds. `nil` waits without a limit. With zero or less, loads are forced immediately.
  ///   - clock: The clock of the timeout.
  public init(drainTimeout: Duration? = .seconds(5), clock: any FutureClock = .system) {
    self.drainTimeout = drainTimeout
    self.clock = clock
  }

  /// Forwards the request, and tracks the load until its transfer completes.
  ///
  /// - Returns: A future with the outcome of `next`. A reset cancels and awaits another, internal future. If the caller
  ///   marks this one as `shared()`, forces it or detaches from it, the reset still waits for the load.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    let future = promise.future.named(.trackedLoad)
    let number = loads.withLock { $0.insert(request, future) }
    future.observe { outcome in
      let transfer = outcome.pendingTransfer
      // The removed future is released outside the lock.
      _ = self.loads.withLock { loads in
        let ended = loads.live.removeValue(forKey: number)
        if let ended, let transfer { loads.transfers[number] = (ended.request, transfer) }
        return ended
      }
      transfer?.observe { _ in
        _ = self.loads.withLock { $0.transfers.removeValue(forKey: number) }
      }
    }
    if promise.cancelRequest == nil {
      promise.seal(onto: next.load(request))
    } else {
      promise.complete(.cancelled)
    }
    return future.forwarded().named(.autocancel)
  }

  /// Cancels the loads in flight, waits for them, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let (live, streams) = loads.withLock { loads in
      (loads.live.sorted { $0.key < $1.key }, loads.streams(of: loads.transfers.keys))
    }
    guard !live.isEmpty || !streams.isEmpty else { return next.reset() }
    // A load can succeed with a stream before it reacts.
    let notes = ResetNotes.current
    let drained = drain(live.map(\.value.future), notes).flatMap { _ in
      self.drain(self.loads.withLock { $0.streams(of: live.map(\.key)) }, notes)
    }
    return Future.allSettled([drain(streams, notes), drained]).flatMap { _ in next.reset() }.shielded()
  }

  /// Cancels futures, and waits for them. One propagation: each load receives the request before the end of another load
  /// can let it proceed.
  private func drain<Value>(_ futures: [Future<Value>], _ notes: ResetNotes?) -> Future<Void> {
    guard !futures.isEmpty else { return .succeeded }
    notes?.drained(futures.count)
    Future.allSettled(futures).cancel(reason: "the chain was reset")
    let timer = drainTimeout.map { timeout in
      clock.schedule(after: timeout) {
        notes?.forced(futures.count { !$0.isCompleted })
        for future in futures {
          future.cancel(.forceImmediately, reason: "the chain was reset, and this load did not end in time")
        }
      }
    }
    return Future.allSettled(futures).map { _ in timer?.cancel() }
  }
}

extension Autocancel: ResetPreviewing {
  var stoppedLoads: [ResetPreview.Load] {
    let loads = loads.value
    let streams = loads.transfers.map {
      ($0.key, ResetPreview.Load($0.value.request, $0.value.future.tree(), isStream: true))
    }
    return (loads.live.map { ($0.key, ResetPreview.Load($0.value.request, $0.value.future.tree())) } + streams)
      .sorted { $0.0 < $1.0 }.map(\.1)
  }
}

extension FutureName {
  fileprivate static let autocancel = FutureName("Autocancel")
  fileprivate static let trackedLoad = FutureName("tracked load")
}
