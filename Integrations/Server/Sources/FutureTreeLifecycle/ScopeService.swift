import FutureTree
import ServiceLifecycle

/// A service that ends the work of a scope when the program shuts down: it refuses, drains, cancels and forces.
///
/// ```swift
/// let work = CancelScope("work")
/// let service = ScopeService(work, drain: .seconds(20), force: .seconds(5)) { logger.info("\($0)") }
///
/// let api = RunInScope(work) --> Retry() --> transport  // Loads of a chain.
/// work.run { thumbnails.add { render(photo) } }  // Work of a queue.
///
/// try await ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// A graceful shutdown has these steps:
///
/// 1. The scope ends, and refuses more work.
/// 2. The work in flight has the time `drain` to complete. This includes queued work that has not begun.
/// 3. The rest receives a cancellation request, with a reason of the kind `shutdown`.
/// 4. After the time `force`, work that has not completed is forced. It may continue behind its future.
/// 5. The report is delivered, and the service ends.
///
/// If the task of the service is cancelled, the service goes to step 3 at once. Undos of the scope run after its work, and are not
/// forced: each has the timeout of the scope.
///
/// The request has no options: it also reaches work in which others have interest, unless that is marked with `shared()`. The scope
/// must have the policy `waitsForWork`, which is the default. With `cancelsWork`, nothing is drained, and the reason has the kind
/// `scopeEnded`.
///
/// All members can be used from any thread and inside any callback.
public final class ScopeService: Service {
  /// The scope whose work the service ends.
  public let scope: CancelScope

  private let drain: Duration?
  private let force: Duration?
  private let clock: any FutureClock
  private let reason: CancellationReason
  private let onReport: @Sendable (ShutdownReport) -> Void

  private let begun = Promise<Void>()
  /// Succeeds with whether all work completed in the drain.
  private let drainEnded = Promise<Bool>()
  private let reported = Promise<ShutdownReport>()

  /// Creates a service for a scope.
  ///
  /// - Parameters:
  ///   - scope: The scope. The service retains it.
  ///   - drain: The time that work in flight has to complete before it is asked to cancel. Defaults to 20 seconds. Values below 0
  ///     are treated as 0. `nil` waits without a limit.
  ///   - force: The time that cancelled work has to complete before it is forced. Defaults to 5 seconds. Values below 0 are treated
  ///     as 0. `nil` never forces.
  ///   - clock: The clock that measures both times. Defaults to `.system`.
  ///   - fileID: The file of the call, for the reason of the request.
  ///   - line: The line of the call, for the reason of the request.
  ///   - onReport: Receives the report of the shutdown, before the service ends. It must not block.
  public init(
    _ scope: CancelScope, drain: Duration? = .seconds(20), force: Duration? = .seconds(5),
    clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line,
    onReport: @escaping @Sendable (ShutdownReport) -> Void = { _ in }
  ) {
    (self.scope, self.drain, self.force, self.clock, self.onReport) = (scope, drain, force, clock, onReport)
    reason = CancellationReason("the service is shutting down", kind: .shutdown, fileID: fileID, line: line)
  }

  /// Waits until the program shuts down, and ends the work of the scope.
  ///
  /// It returns after the report, also if the task was cancelled. Before a shutdown it does not return, even if the scope has ended.
  public func run() async throws {
    do {
      try await gracefulShutdown()
      _ = try await shutDown().value
    } catch {
      // The task was cancelled: the wait for the report does not end with it.
      await withCheckedContinuation { continuation in
        shutDownNow().observe { _ in continuation.resume() }
      }
    }
  }

  /// Begins the shutdown, unless it has begun.
  ///
  /// ```swift
  /// let report = try await service.shutDown().value
  /// ```
  ///
  /// A graceful shutdown of the program calls this method. Later calls join the first one.
  ///
  /// - Returns: A future of the report. Cancelling it only ends the wait.
  /// - Complexity: O(futures + edges) of the tree of the scope.
  @discardableResult
  public func shutDown() -> Future<ShutdownReport> {
    if begun.succeed() { begin() }
    return reported.future.shielded()
  }

  /// Begins the shutdown without a drain, or ends the drain: the work is asked to cancel.
  ///
  /// - Returns: A future of the report. Cancelling it only ends the wait.
  @discardableResult
  public func shutDownNow() -> Future<ShutdownReport> {
    drainEnded.succeed(false)
    return shutDown()
  }

  private func begin() {
    let start = clock.now
    scope.end()
    let inFlight = scope.workInFlight
    let timer = drain.map { drain in clock.schedule(after: drain) { self.drainEnded.succeed(false) } }
    drainEnded.future.observe { outcome in
      timer?.cancel()
      guard case .success(false) = outcome else { return self.report(inFlight, [], nil, since: start) }
      let cancelled = self.scope.workInFlight
      self.scope.cancel(grace: self.force, reason: self.reason, clock: self.clock).observe { outcome in
        self.report(inFlight, cancelled, try? outcome.get(), since: start)
      }
    }
    scope.future.observe { _ in self.drainEnded.succeed(true) }
  }

  private func report(_ inFlight: [String], _ cancelled: [String], _ grace: GraceReport?, since start: Duration) {
    let report = ShutdownReport(
      inFlight: inFlight, cancelled: cancelled, grace: grace, duration: clock.now - start)
    onReport(report)
    reported.succeed(report)
  }
}

extension CancelScope {
  /// The names of the work that has not completed.
  fileprivate var workInFlight: [String] {
    let entries = future.tree().entries
    return entries[0].upstream.map { entries[$0].name }
  }
}
