import FutureTree

/// A layer that refuses loads while the chain after it is being reset, and joins overlapping resets. Put it first in the
/// chain.
///
/// ```swift
/// let api = ResetGuard() --> Autocancel() --> SystemLoader()
/// api.reset()
/// api.load(request)  // Fails with `HTTPError.Code.resetInProgress`.
/// ```
///
/// **Reset.** Loads fail from the moment a reset is requested until it has completed.
///
/// - No later part of the chain is drained before every earlier load has reached the next loader.
/// - No state is wiped before every earlier load has completed, and so has the transfer of its body.
///
/// The chain is usable again afterward, even if the reset failed. A reset of the same chain that is requested in the
/// meantime joins the running one, if all loads of the chain pass through the guard. A reset cannot be cancelled: cancelling its
/// future ends only the wait.
///
/// Loads of the undos of a scope for which the reset waits are not refused. See `HTTPLoader.scope`.
///
/// The layer cancels no loads. Without an `Autocancel` after it, a reset waits until the loads complete by themselves,
/// except those that the transport stops.
///
/// **Cancellation.** The layer holds no requests: a cancellation request is forwarded to the loader that holds the
/// request.
///
/// **In two chains.** While one chain is reset, the loads of both are refused, and the reset waits for the loads of both.
public final class ResetGuard: HTTPLayer {
  private struct State {
    var gate = ResetGate()
    /// The resets that others can join, by their chains.
    var running: [ObjectIdentifier: Future<ResetReceipt>] = [:]
  }

  private let state = Locked(State())

  /// Creates an open guard.
  public init() {}

  /// Forwards the request, unless the chain is being reset.
  ///
  /// - Returns: A future with the outcome of `next`, or a failure with the code `resetInProgress`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard begins() else {
      let error = HTTPError(
        .resetInProgress, "The load was refused. The chain is being reset. Load again after the reset.")
      return .failed(error).named(.resetGuard)
    }
    let future = next.load(request)
    ResetGuard.end(state.withLock { $0.gate.loadEntered() })
    // Closures that capture one object need no allocation.
    future.observe { outcome in
      guard let transfer = outcome.pendingTransfer else { return self.loadEnded() }
      transfer.observe { _ in self.loadEnded() }
    }
    // A separate future: if the caller cancels or forces it, the tracked future does not end.
    return future.forwarded().named(.resetGuard)
  }

  /// Registers a load. Returns `false` if it is refused.
  private func begins() -> Bool {
    if state.withLock({ $0.gate.loadBegins() }) { return true }
    let isUndo = TrackedScope.isUndoing
    let resets = state.withLock { state in
      if isUndo { state.gate.undoBegins() }
      return state.gate.resets
    }
    if !isUndo { for notes in resets { notes.refused(1) } }
    return isUndo
  }

  private func loadEnded() {
    ResetGuard.end(state.withLock { $0.gate.loadEnded() })
  }

  private static func end(_ promises: [Promise<Void>]) {
    for promise in promises { promise.succeed() }
  }
}

// MARK: - Resetting

extension ResetGuard {
  /// Refuses loads. The future completes when the earlier loads have ended.
  public func refuse(_ notes: ResetNotes) -> Future<Void> {
    state.withLock { $0.gate.close(notes) }?.future ?? .succeeded
  }

  /// Waits until each earlier load has reached the next loader.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    state.withLock { $0.gate.waitsForEntering() }?.future ?? .succeeded
  }

  /// Admits loads, unless another reset is in progress.
  public func admit(_ notes: ResetNotes) {
    state.withLock { $0.gate.open(notes) }
  }

  /// Joins the reset of a chain, or begins one.
  ///
  /// - Parameter begin: Begins a reset, and calls its argument when no other may join it.
  func join(
    _ chain: HTTPChain, orBegin begin: (_ hasEnded: @escaping @Sendable () -> Void) -> Future<ResetReceipt>
  ) -> Future<ResetReceipt> {
    let promise = Promise<ResetReceipt>()
    let running = state.withLock { state -> Future<ResetReceipt>? in
      if let running = state.running[ObjectIdentifier(chain)] { return running }
      state.running[ObjectIdentifier(chain)] = promise.future
      return nil
    }
    if let running { return running }
    // The chain is retained until its identity is not needed.
    let reset = begin { [state, chain] in
      state.release { $0.running.removeValue(forKey: ObjectIdentifier(chain)) }
    }
    promise.seal(onto: reset)
    return promise.future
  }
}

extension FutureName {
  fileprivate static let resetGuard = FutureName("ResetGuard")
}

/// The state that decides which loads may pass while a chain is reset. Takes no lock, calls no closure.
///
/// # Invariants
/// 1. The gate is closed while at least one reset is in progress.
/// 2. A promise is created when there is something to wait for, and returned when that has ended.
struct ResetGate {
  /// The resets in progress, as their notes.
  private(set) var resets: [ResetNotes] = []
  /// The loads that have not reached the loader after the gate.
  private var entering = 0
  private var inFlight = 0
  private var awaitEntering: [Promise<Void>] = []
  private var awaitEnd: [Promise<Void>] = []

  var isOpen: Bool { resets.isEmpty }

  /// Registers a load that begins. Returns `false` if it is refused.
  mutating func loadBegins() -> Bool {
    guard isOpen else { return false }
    undoBegins()
    return true
  }

  /// Registers a load of an undo for which a reset waits. It passes the closed gate.
  mutating func undoBegins() {
    entering += 1
    inFlight += 1
  }

  /// Registers that a load has reached the loader after the gate. Returns the promises of those that waited for it.
  mutating func loadEntered() -> [Promise<Void>] {
    entering -= 1
    return entering == 0 ? awaitEntering.takeAll() : []
  }

  /// Registers that a load has ended. Returns the promises of those that waited for it.
  mutating func loadEnded() -> [Promise<Void>] {
    inFlight -= 1
    return inFlight == 0 ? awaitEnd.takeAll() : []
  }

  /// Begins a reset. Returns a promise if loads are in flight.
  mutating func close(_ reset: ResetNotes) -> Promise<Void>? {
    resets.append(reset)
    return inFlight == 0 ? nil : awaitEnd.appendPromise()
  }

  /// Returns a promise if loads are entering.
  mutating func waitsForEntering() -> Promise<Void>? {
    entering == 0 ? nil : awaitEntering.appendPromise()
  }

  /// Ends a reset.
  mutating func open(_ reset: ResetNotes) {
    resets.removeAll { $0 === reset }
  }
}

extension [Promise<Void>] {
  fileprivate mutating func takeAll() -> [Promise<Void>] {
    if isEmpty { return [] }
    defer { self = [] }
    return self
  }

  fileprivate mutating func appendPromise() -> Promise<Void> {
    append(Promise())
    return self[endIndex - 1]
  }
}
