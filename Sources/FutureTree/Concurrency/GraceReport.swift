/// What a cancellation with a grace period did: whether the future completed in time, or was forced.
///
/// ```swift
/// let report = try await upload.cancel(grace: .seconds(5), reason: "the app quits").value
/// if report.forced != nil { print("did not react: \(report.pending)") }
/// ```
public struct GraceReport: Sendable {
  /// The receipt of the first request.
  public let asked: CancelReceipt
  /// The receipt of the forced request. `nil` if the future completed within the period.
  public let forced: CancelReceipt?
  /// The ending of the future. `nil` if it is pending although it was forced: other consumers have interest in a future that
  /// `shared()` marked.
  public let ending: Ending?
  /// The names of the sources that the future was waiting for when the period had passed, as ``Future/tree()`` shows them. They did
  /// not react to the first request.
  public let pending: [String]
}

extension GraceReport: CustomStringConvertible {
  /// One phrase, such as `delivered to 1 handler, reached 2 futures, then forced while 1 source was pending (upload)`.
  public var description: String {
    guard forced != nil else { return "\(asked), then completed within the grace period" }
    let names = pending.joined(separator: ", ")
    let sources = pending.count == 1 ? "1 source was" : "\(pending.count) sources were"
    return "\(asked), then forced while \(sources) pending\(names.isEmpty ? "" : " (\(names))")"
  }
}

extension Future {
  /// Asks this future to cancel, waits, and forces it to complete if it has not completed after a grace period.
  ///
  /// ```swift
  /// upload.cancel(grace: .seconds(5), reason: "the app quits").observe { print($0) }
  /// ```
  ///
  /// The first request is that of ``cancel(_:reason:fileID:line:)``. When the period has passed, the future receives a second
  /// request with `forceImmediately`, and the same reason with a note. It then completes at once, while its work may continue
  /// behind it. See <doc:Cancellation#Grace>.
  ///
  /// The returned future is not a consumer of this one: it observes it.
  ///
  /// - Parameters:
  ///   - options: The options of the first request.
  ///   - period: The time that the future has to complete. Values below 0 are treated as 0. `nil` never forces.
  ///   - reason: The reason of both requests.
  ///   - clock: The clock that measures the period. Defaults to `.system`.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: A future of the report. It succeeds when this future has completed or was forced. If it is cancelled, the wait
  ///   ends at once, and this future is not forced.
  /// - Complexity: O(n) in the number of futures and edges that the requests reach, and one timer of the clock.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], grace period: Duration?, reason: CancellationReason? = nil,
    clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future<GraceReport> {
    let request = CancelRequest(options: options, reason: reason, fileID: fileID, line: line)
    return GracefulCancellation([node]).begin(request, period, clock)
  }

  /// Asks futures to cancel in one propagation, and forces those that have not completed after a grace period.
  ///
  /// - Parameter willForce: Receives the number of futures that will be forced.
  package static func cancel(
    _ futures: [Future], grace period: Duration?, reason: CancellationReason, clock: any FutureClock,
    fileID: String = #fileID, line: UInt = #line, _ willForce: @escaping @Sendable (Int) -> Void
  ) -> Future<GraceReport> {
    let cancellation = GracefulCancellation(futures.map(\.node)) { pending, request in
      willForce(pending.count)
      return GracefulCancellation.force(pending, request)
    }
    let request = CancelRequest(options: [], reason: reason, fileID: fileID, line: line)
    return cancellation.begin(request, period, clock)
  }
}

/// Asks, waits, and forces.
final class GracefulCancellation: Sendable {
  /// What a forced request did.
  struct Force {
    /// `nil` if there was nothing to force.
    let receipt: CancelReceipt?
    /// Whether the futures will complete without another request, so that the report waits for them.
    let willComplete: Bool
  }

  private struct State {
    /// The number of futures that have not completed.
    var pending: Int
    var timer: FutureTimer?
    var observers: [NodeObserver] = []
    /// Whether the forced request is in progress. The report waits for its receipt.
    var isForcing = false
    /// The receipt of the forced request, and the names of the sources that were pending before.
    var forced: (receipt: CancelReceipt, sources: [String])?
    /// Whether the report is complete, or the wait was cancelled.
    var hasEnded = false

    /// Ends the wait. Returns `nil` if it had ended.
    mutating func end() -> (timer: FutureTimer?, observers: [NodeObserver])? {
      guard !hasEnded else { return nil }
      hasEnded = true
      defer { (timer, observers) = (nil, []) }
      return (timer, observers)
    }
  }

  private let nodes: [Node]
  private let promise = Promise<GraceReport>()
  private let force: @Sendable (_ pending: [Node], CancelRequest) -> Force
  private let state: Locked<State>

  /// - Parameters:
  ///   - nodes: The futures, at least one.
  ///   - force: Forces those that have not completed.
  init(
    _ nodes: [Node],
    force: @escaping @Sendable (_ pending: [Node], CancelRequest) -> Force = GracefulCancellation.force
  ) {
    self.nodes = nodes
    self.force = force
    state = Locked(State(pending: nodes.count))
  }

  /// Forces futures, which complete at once unless they are shared.
  @Sendable static func force(_ pending: [Node], _ request: CancelRequest) -> Force {
    let receipt = CancellationPropagation.run(pending.map { Signal(node: $0, request: request) })
    return Force(receipt: receipt, willComplete: false)
  }

  func begin(_ request: CancelRequest, _ period: Duration?, _ clock: any FutureClock) -> Future<GraceReport> {
    promise.onRequestCancel { [weak self] _ in
      self?.endWait()
      return .complete(.cancelled)
    }
    let asked = CancellationPropagation.run(nodes.map { Signal(node: $0, request: request) })
    for node in nodes {
      let observer = NodeObserver(of: node) { _ in
        let isLast = self.state.withLock { state in
          state.pending -= 1
          return state.pending == 0 && !state.isForcing
        }
        if isLast { self.report(asked) }
      }
      let isWaiting = state.withLock { state in
        if !state.hasEnded { state.observers.append(observer) }
        return !state.hasEnded
      }
      if !isWaiting { _ = observer.end() }
    }
    if let period, !state.withLock({ $0.hasEnded }) {
      let timer = clock.schedule(after: period.clampedToMaximumTimerDuration) { self.passed(request, period, asked) }
      let isSet = state.withLock { state in
        if !state.hasEnded { state.timer = timer }
        return !state.hasEnded
      }
      if !isSet { timer.cancel() }
    }
    return promise.future.named(.grace)
  }

  /// The period has passed.
  private func passed(_ request: CancelRequest, _ period: Duration, _ asked: CancelReceipt) {
    let isFirst = state.withLock { state in
      if !state.hasEnded { state.isForcing = true }
      return !state.hasEnded
    }
    guard isFirst else { return }
    let pending = nodes.filter { $0.ending == nil }
    let sources = GracefulCancellation.pendingSources(of: pending)
    let reason = request.reason.afterGrace(period)
    let forced = force(pending, CancelRequest(options: .forceImmediately, reason: reason))
    let isDone = state.withLock { state in
      state.isForcing = false
      state.forced = forced.receipt.map { ($0, sources) }
      return state.pending == 0 || !forced.willComplete
    }
    if isDone { report(asked) }
  }

  private func report(_ asked: CancelReceipt) {
    let forced = state.withLock { $0.forced }
    guard endWait() else { return }
    promise.succeed(
      GraceReport(
        asked: asked, forced: forced?.receipt, ending: nodes.first?.ending, pending: forced?.sources ?? []))
  }

  /// Returns the names of the pending sources that futures wait for.
  private static func pendingSources(of nodes: [Node]) -> [String] {
    var (names, seen, next) = ([String](), Set<ObjectIdentifier>(), Array(nodes.reversed()))
    while let node = next.popLast() {
      guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
      let (isPending, label, upstream) = node.lock.withLock { (node.state.isPending, node.label, node.waitsFor) }
      guard isPending else { continue }
      let inputs = upstream.map(\.node)
      if inputs.isEmpty { names.append(label) }
      next += inputs.reversed()
    }
    return names
  }

  /// Ends the wait. Returns `false` if it had ended.
  @discardableResult
  private func endWait() -> Bool {
    guard let ended = state.withLock({ $0.end() }) else { return false }
    ended.timer?.cancel()
    for observer in ended.observers { _ = observer.end() }
    return true
  }
}

extension CancellationReason {
  /// The reason of the forced request.
  fileprivate func afterGrace(_ period: Duration) -> CancellationReason {
    let message = "\(message); not completed within \(period.rounded)"
    return CancellationReason(message, kind: kind, cause: cause, fileID: fileID, line: line)
  }
}

extension FutureName {
  fileprivate static let grace = FutureName("grace")
}
