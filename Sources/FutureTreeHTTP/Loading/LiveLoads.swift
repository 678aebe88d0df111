import FutureTree

/// A registry of loads that have not ended, for the resets of a transport.
///
/// ```swift
/// final class Transport: HTTPLoader {
///   private let live = LiveLoads()
///
///   func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
///     live.track(Future.task { try await exchange(request) })
///   }
///
///   func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }
///   func reset() -> Future<Void> { live.drain() }
/// }
/// ```
///
/// A registry can be used from any thread. It retains each load only until the load has ended.
public final class LiveLoads: Sendable {
  /// A load that has not ended. After the head of a stream, its work is the transfer.
  struct Load: Sendable {
    /// `nil` for the work of a transport.
    let request: HTTPRequest?
    /// Whether the load is part of an undo, which a reset must let run.
    let isUndo: Bool
    let work: any LiveWork
    var isTransfer = false
  }

  private struct State {
    var loads: [Int: Load] = [:]
    var lastID = 0
  }

  private let state = Locked(State())

  /// Creates an empty registry.
  public init() {}

  /// The number of loads that have not ended, including loads whose callers already have an outcome.
  public var count: Int { state.withLock { $0.loads.count } }

  /// Returns loads in the order in which they began.
  func loads(where includes: (Int, Load) -> Bool = { _, _ in true }) -> [(id: Int, load: Load)] {
    state.withLock { $0.loads }.filter { includes($0.key, $0.value) }.sorted { $0.key < $1.key }
      .map { (id: $0.key, load: $0.value) }
  }

  /// Tracks the work of a load until it ends, and returns a future for the caller of the load.
  ///
  /// If the body is a stream, the load is tracked until its transfer has ended.
  ///
  /// The returned future has the outcome of `work`, and forwards cancellation to it. With `.forceImmediately` only the
  /// returned future completes at once. `work` receives the request without the force and stays tracked until it ends, so
  /// that a reset waits for it. This implements the rules *Confirmed cancellation* and *Refuse, drain, wipe*.
  ///
  /// - Parameter work: A future that completes when the transport has confirmed that nothing of the load is left. Do not
  ///   pass it to callers: a caller could force it to complete.
  /// - Returns: A future derived from `work`.
  /// - Complexity: O(1).
  public func track<Value>(_ work: Future<Value>) -> Future<Value> {
    let forCaller = work.forwarded()
    add(work)
    return forCaller
  }

  /// Tracks the work of a load whose caller has a separate future.
  func add<Value>(_ work: Future<Value>, of request: HTTPRequest? = nil, isUndo: Bool = false) {
    let id = state.withLock { state in
      state.lastID += 1
      state.loads[state.lastID] = Load(request: request, isUndo: isUndo, work: work)
      return state.lastID
    }
    // An observer has no interest, so it does not withhold a request of the caller.
    work.observe { [self] outcome in ended(id, followedBy: (outcome as? Outcome<HTTPResponse>)?.pendingTransfer) }
  }

  /// Removes a load whose work has ended. The transfer of its body takes its place, if there is one.
  private func ended(_ id: Int, followedBy transfer: Future<Void>?) {
    let ended = state.withLock { state -> Load? in
      guard let load = state.loads[id], !load.isTransfer else { return nil }
      state.loads[id] = transfer.map { Load(request: load.request, isUndo: load.isUndo, work: $0, isTransfer: true) }
      return load
    }
    guard ended != nil, let transfer else { return }
    transfer.observe { [state] _ in state.release { $0.loads.removeValue(forKey: id) } }
  }

  /// Cancels all loads, and waits until their work has ended, even if their callers already have an outcome.
  ///
  /// Loads that begin in the meantime are neither cancelled nor awaited. Cancelling the returned future only stops the
  /// wait.
  ///
  /// - Parameter notes: The notes that receive the number of loads.
  /// - Returns: A future that succeeds, regardless of the outcomes of the loads.
  /// - Complexity: O(n) in the number of loads.
  public func drain(_ notes: ResetNotes? = nil) -> Future<Void> {
    drain(loads(), notes, because: LiveLoads.resetReason).shielded()
  }

  static let resetReason: CancellationReason = "the loader was reset"

  /// Cancels some loads, and waits until their work has ended.
  ///
  /// - Parameters:
  ///   - limit: The time after which loads that have not ended are forced to complete.
  ///   - fileID: The file of the request.
  ///   - line: The line of the request.
  func drain(
    _ loads: [(id: Int, load: Load)], _ notes: ResetNotes?, because reason: CancellationReason,
    limit: (time: Duration, clock: any FutureClock)? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> Future<Void> {
    guard !loads.isEmpty else { return .succeeded }
    notes?.drained(loads.count)
    let ends = loads.map { $0.load.work.end() }
    // One propagation: each load receives the request before the end of another load can let it proceed.
    Future.allSettled(ends).cancel(reason: reason, fileID: fileID, line: line)
    let timer = limit.map { limit in
      limit.clock.schedule(after: limit.time) {
        notes?.forced(loads.count { !$0.load.work.isCompleted })
        for (_, load) in loads { load.work.force() }
      }
    }
    return Future.allSettled(ends).flatMap { [self] _ in
      timer?.cancel()
      let heads = loads.filter { !$0.load.isTransfer }
      // A load that ends on another thread at this moment may not have removed itself yet.
      for (id, load) in heads { ended(id, followedBy: load.work.transfer) }
      let ids = Set(heads.map(\.id))
      // A load can succeed with a stream before it reacts.
      let transfers = self.loads { $1.isTransfer && ids.contains($0) }
      return drain(transfers, notes, because: reason, limit: limit, fileID: fileID, line: line)
    }
  }
}

/// A future of any type.
protocol LiveWork: Sendable {
  var isCompleted: Bool { get }
  /// The transfer of the body of a response, if it has not ended.
  var transfer: Future<Void>? { get }
  /// Returns a future that succeeds when this one has completed, and is a consumer of it.
  func end() -> Future<Void>
  func force()
  func tree() -> TreeSnapshot
}

extension Future: LiveWork {
  var transfer: Future<Void>? { (outcomeIfCompleted as? Outcome<HTTPResponse>)?.pendingTransfer }

  func end() -> Future<Void> { onComplete { _ in .success } }

  func force() { cancel(.forceImmediately, reason: "the chain was reset, and this load did not end in time") }
}
