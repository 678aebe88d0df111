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
/// - The scopes of ``HTTPLoader/scope(_:whenEnded:undoTimeout:clock:)`` are cancelled as well. The reset waits until their undos
///   have run.
/// - Loads that begin during the reset are not part of it. A `ResetGuard` before this layer refuses them.
///
/// **Cancellation.** The layer holds no requests: a cancellation request is forwarded to the loader that holds the
/// request. If a reset cancels a load before the layer has forwarded it, the load is not forwarded.
///
/// **In two chains.** A reset of either chain cancels the loads of both.
public final class Autocancel: HTTPLayer {
  private struct Scopes {
    var lastID = 0
    var live: [Int: TrackedScope] = [:]
  }

  private let loads = LiveLoads()
  private let scopes = Locked(Scopes())
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
    loads.add(future, of: request, isUndo: isUndo)
    if promise.cancelRequest == nil {
      promise.seal(onto: next.load(request))
    } else {
      promise.complete(.cancelled)
    }
    return future.forwarded().named(.autocancel)
  }

  /// Whether a load that begins here belongs to the undo of a tracked scope. The task-local value of an undo is read only while
  /// there are scopes.
  private var isUndo: Bool {
    guard scopes.withLock({ !$0.live.isEmpty }), let scope = TrackedScope.ofUndo else { return false }
    return scopes.withLock { $0.live.values.contains(scope) }
  }

  /// Cancels the loads in flight, and waits for them.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let scopes = scopes.withLock { $0.live.sorted { $0.key < $1.key }.map(\.value) }
    let live = loads.loads { !$1.isUndo || $1.isTransfer }
    for scope in scopes { scope.cancelForReset(because: Autocancel.reason) }
    let drained = drain(live, notes)
    if scopes.isEmpty { return drained }
    // The loads of undos are cancelled only if they are in flight when their scopes are settled.
    let ids = Set(live.map(\.id))
    let undone = Future.allSettled(scopes.map(\.settled)).flatMap { [self] _ in
      drain(loads.loads { $1.isUndo && !ids.contains($0) }, notes)
    }
    return Future.allSettled([drained, undone]).map { _ in }
  }

  private func drain(_ live: [(id: Int, load: LiveLoads.Load)], _ notes: ResetNotes) -> Future<Void> {
    loads.drain(live, notes, because: Autocancel.reason, limit: drainTimeout.map { ($0, clock) })
  }
}

extension Autocancel: ResetTracking {
  private static let reason: CancellationReason = "the chain was reset"

  func track(_ scope: TrackedScope) {
    let id = scopes.withLock { scopes in
      scopes.lastID += 1
      scopes.live[scopes.lastID] = scope
      return scopes.lastID
    }
    scope.settled.observe { [scopes] _ in scopes.release { $0.live.removeValue(forKey: id) } }
  }

  var preview: ResetPreview {
    ResetPreview(
      loads: loads.loads { !$1.isUndo || $1.isTransfer }.map { _, load in
        ResetPreview.Load(load.request.map { "\($0)" } ?? "", load.work.tree(), isStream: load.isTransfer)
      },
      scopes: scopes.value.live.sorted { $0.key < $1.key }.map { ResetPreview.Scope($0.value.future.tree()) })
  }
}

extension FutureName {
  fileprivate static let autocancel = FutureName("Autocancel")
  fileprivate static let trackedLoad = FutureName("tracked load")
}
