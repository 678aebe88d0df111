import FutureTree

/// A layer that cancels all loads in flight when the chain is reset, and waits for them.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> SystemLoader()
/// api.reset()  // Every load completes as `.cancelled`. Then the loaders after the layer are drained.
/// ```
///
/// **Reset.** A reset cancels every load and every stream in flight, as if by `cancel()`, and waits for it. Only then are
/// the loaders after it drained, so that no earlier load reaches a loader that has been drained.
///
/// - If a load has not completed after `drainTimeout`, it is cancelled again with `.forceImmediately`.
/// - If a load succeeds before it reacts to the cancellation, its result is kept.
/// - If a caller forced its load to complete or detached from it, the reset still waits until the next loader has
///   completed the load. The reset is a consumer of the load, so a request with `.doNotForwardIfOthersWaiting` completes the
///   caller's future at once.
/// - The scopes that `HTTPLoader.scope` created are cancelled as well. The reset waits until their undos have run.
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
    var scopes: [Int: TrackedScope] = [:]
    /// The loads of undos. A reset cancels them only if they are in flight when their scopes are settled.
    var undos: Set<Int> = []

    mutating func insert(
      _ request: HTTPRequest, _ future: Future<HTTPResponse>, undoOf scope: TrackedScope? = nil
    ) -> Int {
      defer { next += 1 }
      live[next] = (request, future)
      if let scope, scopes.values.contains(scope) { undos.insert(next) }
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
    let number = track(request, future)
    future.observe { outcome in
      let transfer = outcome.pendingTransfer
      // The removed future is released outside the lock.
      _ = self.loads.withLock { loads in
        let ended = loads.live.removeValue(forKey: number)
        if !loads.undos.isEmpty { loads.undos.remove(number) }
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

  /// Adds a load. The task-local value of an undo is read only while there are scopes.
  private func track(_ request: HTTPRequest, _ future: Future<HTTPResponse>) -> Int {
    if let number = loads.withLock({ $0.scopes.isEmpty ? $0.insert(request, future) : nil }) { return number }
    let scope = TrackedScope.ofUndo
    return loads.withLock { $0.insert(request, future, undoOf: scope) }
  }

  /// Cancels the loads in flight, and waits for them.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let (live, undos, streams, scopes) = loads.withLock { loads in
      let live = loads.live.sorted { $0.key < $1.key }
      return (
        live.filter { !loads.undos.contains($0.key) }, live.filter { loads.undos.contains($0.key) }.map(\.value.future),
        loads.streams(of: loads.transfers.keys), loads.scopes.sorted { $0.key < $1.key }.map(\.value)
      )
    }
    guard !live.isEmpty || !streams.isEmpty || !scopes.isEmpty else { return .succeeded }
    for scope in scopes { scope.cancelForReset(because: .chainReset) }
    // A load can succeed with a stream before it reacts.
    let drained = drain(live.map(\.value.future), notes).flatMap { _ in
      self.drain(self.loads.withLock { $0.streams(of: live.map(\.key)) }, notes)
    }
    let undone = Future.allSettled(scopes.map(\.settled)).flatMap { _ in
      self.drain(undos.filter { !$0.isCompleted }, notes)
    }
    return Future.allSettled([drain(streams, notes), drained, undone]).map { _ in }
  }

  /// Cancels futures, and waits for them. One propagation: each load receives the request before the end of another load
  /// can let it proceed. The returned future is a consumer of each load.
  private func drain<Value>(_ futures: [Future<Value>], _ notes: ResetNotes) -> Future<Void> {
    guard !futures.isEmpty else { return .succeeded }
    notes.drained(futures.count)
    let drained = Future.allSettled(futures).map { _ in }
    _ = Future.cancel(futures, grace: drainTimeout, reason: .chainReset, clock: clock) { notes.forced($0) }
    return drained
  }
}

extension Autocancel {
  /// Cancels a scope when the layer is reset, and waits for it.
  func track(_ scope: TrackedScope) {
    let number = loads.withLock { loads -> Int in
      defer { loads.next += 1 }
      loads.scopes[loads.next] = scope
      return loads.next
    }
    scope.settled.observe { _ in
      _ = self.loads.withLock { $0.scopes.removeValue(forKey: number) }
    }
  }

  /// The loads and scopes that a reset would stop.
  var preview: ResetPreview {
    let state = loads.value
    let live = state.live.filter { !state.undos.contains($0.key) }.map {
      ($0.key, ResetPreview.Load("\($0.value.request)", $0.value.future.tree()))
    }
    let streams = state.transfers.map {
      ($0.key, ResetPreview.Load("\($0.value.request)", $0.value.future.tree(), isStream: true))
    }
    return ResetPreview(
      loads: (live + streams).sorted { $0.0 < $1.0 }.map(\.1),
      scopes: state.scopes.sorted { $0.key < $1.key }.map { ResetPreview.Scope($0.value.future.tree()) })
  }
}

extension FutureName {
  fileprivate static let autocancel = FutureName("Autocancel")
  fileprivate static let trackedLoad = FutureName("tracked load")
}
