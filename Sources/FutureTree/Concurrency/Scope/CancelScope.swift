/// A scope of work that is cancelled, awaited and undone together.
///
/// ```swift
/// let checkout = CancelScope("checkout")
/// let order = checkout.run { api.create(draft) }
/// checkout.undo(of: order) { api.delete($0.id) }
/// let payment = checkout.run { order.flatMap { api.pay($0) } }
///
/// closeButton.action = { checkout.cancel(reason: "the user closed the window") }
/// payment.observe { outcome in
///   if outcome.ending == .succeeded { try? checkout.commit() }
///   checkout.end()
/// }
/// ```
///
/// A scope is a node of the tree: its future depends on all its work. A cancellation request to the scope reaches all work in
/// flight, also that of nested scopes. The scope is not a consumer of its work, so no request to the work is withheld for it. See
/// <doc:Cancellation#Ordering-is-not-interest>. Drawings show the scope below its work.
///
/// A scope *ends* once: by `end()`, by a request, or when the last reference to it is dropped. An ended scope refuses more work.
/// It is *settled* when its work in flight has completed and its undos have run.
///
/// **Undos.** `undo(of:)` registers a compensation for a step, which is due if the step succeeds, even after the step was asked
/// to cancel. Unless the scope commits, due undos run when the work has completed: one at a time, in the reverse order in which
/// their steps succeeded. Requests do not reach them. Each has a deadline of its own. Their failures are reported by the future
/// of the scope.
///
/// **Failures and deadlines.** By default, a scope continues when work in it fails. With `whenWorkFails: .cancelsWork`, the first
/// failure cancels the other work, and is the failure of the scope. When the ``deadline`` passes, the work receives a request of
/// the kind `deadline`, and the scope fails with ``TimeoutError``.
///
/// See <doc:Scopes>. All members can be used from any thread and inside any callback.
public final class CancelScope: Sendable {
  /// What happens to the work in flight when a scope is ended by `end()`.
  public enum EndPolicy: Sendable, Hashable {
    /// The scope waits for the work.
    case waitsForWork
    /// The work is asked to cancel, and the scope waits for it. This includes work whose body runs while the scope is ended.
    case cancelsWork
  }

  /// What happens when work in a scope fails.
  public enum FailurePolicy: Sendable, Hashable {
    /// The scope and its other work continue. The caller handles the failure.
    case continues
    /// The other work is asked to cancel, for a reason with the failure as its `cause`. The scope ends, and fails with the first
    /// failure. Work that was cancelled has not failed.
    case cancelsWork
  }

  /// The outcome of a scope whose deadline has passed. Its work is asked to cancel in both cases.
  public enum DeadlinePolicy: Sendable, Hashable {
    /// The scope fails with ``TimeoutError``.
    case fails
    /// The scope succeeds.
    case succeeds
  }

  struct Settings: Sendable {
    let policy: EndPolicy
    let failurePolicy: FailurePolicy
    let deadlinePolicy: DeadlinePolicy
    let undoTimeout: Duration
    let clock: any FutureClock
  }

  /// The scope whose undo begins on this thread.
  @TaskLocal static var undoing: ScopeCore?

  /// The scope whose work begins on this thread or in this task.
  @TaskLocal static var current: ScopeCore?

  let core: ScopeCore

  /// Creates a scope.
  ///
  /// - Parameters:
  ///   - name: The name of the scope, for drawings and errors.
  ///   - deadline: The instant by which the work must have completed. Defaults to none.
  ///   - policy: What happens to the work in flight when the scope is ended by `end()`. Defaults to `waitsForWork`.
  ///   - failurePolicy: What happens when work in the scope fails. Defaults to `continues`.
  ///   - deadlinePolicy: The outcome of the scope when the deadline passes. Defaults to `fails`.
  ///   - undoTimeout: The time after which an undo is asked to cancel and counts as failed. Defaults to 30 seconds.
  ///   - clock: The clock that measures `undoTimeout`. Defaults to `.system`.
  public convenience init(
    _ name: String = "scope", deadline: FutureDeadline? = nil, whenEnded policy: EndPolicy = .waitsForWork,
    whenWorkFails failurePolicy: FailurePolicy = .continues, whenDeadlinePasses deadlinePolicy: DeadlinePolicy = .fails,
    undoTimeout: Duration = .seconds(30), clock: any FutureClock = .system
  ) {
    let settings = Settings(
      policy: policy, failurePolicy: failurePolicy, deadlinePolicy: deadlinePolicy, undoTimeout: undoTimeout,
      clock: clock)
    self.init(name, settings, parent: nil)
    if let deadline { core.nearestDeadline = deadline }
  }

  private init(_ name: String, _ settings: Settings, parent: ScopeCore?) {
    core = ScopeCore(name, settings, parent: parent)
  }

  deinit {
    core.drop()
  }

  /// The end of the scope. It completes when the scope is settled.
  ///
  /// It succeeds if the scope was ended by `end()`. It is cancelled if a request ended the scope. It fails with ``UndoFailed`` if
  /// an undo failed, with ``TimeoutError`` if the deadline passed, and with the failure of the work if that cancels the scope.
  /// A forced request completes it at once, and so does `doNotForwardRequest`: then the work and the undos
  /// continue behind it.
  public var future: Future<Void> { core.future }

  /// Whether the scope has ended, and refuses work.
  public var isEnded: Bool { core.isEnded }

  /// The number of undos that have succeeded.
  public var undoneCount: Int { core.undone }
}

// MARK: - Work

extension CancelScope {
  /// Begins work in the scope.
  ///
  /// ```swift
  /// let avatar = scope.run { api.load(avatarRequest) }
  /// ```
  ///
  /// - Parameter body: Begins the work. It is called before this method returns, outside every lock. If it throws, the returned
  ///   future fails.
  /// - Returns: The future of the work. If the scope has ended, `body` is not called: the future is cancelled with the reason of
  ///   the request that ended the scope, or fails with ``ScopeEnded``. Work that waits for the scope fails with
  ///   ``CompletedWithItself``.
  @discardableResult
  public func run<Value>(_ body: () throws -> Future<Value>) -> Future<Value> { core.run(body) }

  /// Adds work that has begun elsewhere.
  ///
  /// - Returns: `false` if the scope has ended, or if the work waits for the scope. The work is then not part of the scope, and not
  ///   changed.
  @discardableResult
  public func add<Value>(_ work: Future<Value>) -> Bool { core.add(work) }

  /// Begins a scope inside this one.
  ///
  /// Requests to this scope reach the nested scope. This scope waits for it. When a nested scope has committed, its undos become
  /// undos of this scope. In an ended scope, the nested scope has ended from the start.
  ///
  /// If a nested scope fails, it counts as work that has failed. A policy that is not given is that of this scope.
  ///
  /// - Parameters:
  ///   - name: The name of the nested scope.
  ///   - deadline: Its deadline. The nearer of this one and that of this scope applies. Defaults to none of its own.
  ///   - policy: What happens to its work when it is ended by `end()`.
  ///   - failurePolicy: What happens when its work fails.
  ///   - deadlinePolicy: The outcome of the nested scope when its own deadline passes.
  public func nested(
    _ name: String, deadline: FutureDeadline? = nil, whenEnded policy: EndPolicy? = nil,
    whenWorkFails failurePolicy: FailurePolicy? = nil, whenDeadlinePasses deadlinePolicy: DeadlinePolicy? = nil
  ) -> CancelScope {
    let outer = core.settings
    let settings = Settings(
      policy: policy ?? outer.policy, failurePolicy: failurePolicy ?? outer.failurePolicy,
      deadlinePolicy: deadlinePolicy ?? outer.deadlinePolicy, undoTimeout: outer.undoTimeout, clock: outer.clock)
    let scope = CancelScope(name, settings, parent: core)
    if !core.add(scope.core) { scope.cancel(reason: .of(.scopeEnded, "the outer scope had ended")) }
    if let deadline { scope.core.nearestDeadline = deadline }
    return scope
  }
}

// MARK: - The deadline

extension CancelScope {
  /// The instant by which the work must have completed: that of this scope or of an outer one, whichever is nearer.
  ///
  /// ```swift
  /// if let left = scope.deadline?.remaining { print("\(left) left") }
  /// scope.deadline = .after(.seconds(30))  // Moves the deadline of this scope.
  /// ```
  ///
  /// When it passes, the work is asked to cancel for a reason of the kind `deadline`, and the scope ends. The `DeadlinePolicy`
  /// decides its outcome. A deadline does not apply to undos, nor to a scope that is settled. `nil` removes the deadline of this
  /// scope.
  ///
  /// Loads that a chain of `FutureTreeHTTP` begins in the body of ``run(_:)`` or of `withCancelScope`, or in a task that the body
  /// starts, have this deadline as well.
  ///
  /// - Complexity: O(outer scopes), and one timer of the clock for each change.
  public var deadline: FutureDeadline? {
    get { core.nearestDeadline }
    set { core.nearestDeadline = newValue }
  }

  /// Whether a scope has a deadline. Faster than reading the current one.
  package static var hasDeadlines: Bool { ScopeDeadline.isInUse }

  /// The deadline of the scope whose work begins on this thread or in this task.
  package static var currentDeadline: FutureDeadline? { current?.nearestDeadline }

  /// Calls a body outside the current scope, so that work for several callers does not have the deadline of one.
  package static func outside<Result>(_ body: () -> Result) -> Result { $current.withValue(nil, operation: body) }
}

// MARK: - Undos

extension CancelScope {
  /// Registers a compensation for a step, and returns the step.
  ///
  /// ```swift
  /// let order = scope.undo(of: scope.run { api.create(draft) }) { api.delete($0.id) }
  /// ```
  ///
  /// The undo is due when the step succeeds, even if the step was asked to cancel before. Unless the scope commits, it runs after
  /// the work of the scope has completed.
  ///
  /// - Parameters:
  ///   - step: The step. The scope waits for it, also if the scope did not begin it. If the scope is settled and has not
  ///     committed, the undo runs when the step succeeds, and its failure is not reported.
  ///   - name: The name of the undo, for drawings and ``UndoFailed``. Defaults to the file and line of the call.
  ///   - fileID: The file of the call, for the name.
  ///   - line: The line of the call, for the name.
  ///   - body: Begins the undo with the value of the step. It is called outside every lock. An error that it throws counts as a
  ///     failed undo.
  @discardableResult
  public func undo<Value, Undone>(
    of step: Future<Value>, named name: String? = nil, fileID: String = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Value) throws -> Future<Undone>
  ) -> Future<Value> {
    core.undo(of: step, named: name ?? "\(fileID):\(line)", body)
    return step
  }

  /// Keeps the effects of the steps: no undo of this scope will run.
  ///
  /// The undos of a nested scope become undos of the outer scope.
  ///
  /// - Throws: `FutureCancelled` if a request has ended the scope before, ``ScopeEnded`` if undos have begun. After an
  ///   error, the undos run.
  public func commit() throws { try core.commit() }
}

// MARK: - The end

extension CancelScope {
  /// Ends the scope. It refuses more work from now on.
  ///
  /// - Returns: `future`.
  @discardableResult
  public func end() -> Future<Void> {
    core.end()
    return future
  }

  /// Asks the work of the scope to cancel, and ends the scope. The same as `future.cancel(…)`.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    future.cancel(options, reason: reason, fileID: fileID, line: line)
  }

  /// Asks the work of the scope to cancel, ends the scope, and forces work that has not completed after a grace period.
  ///
  /// ```swift
  /// let report = try await scope.cancel(grace: .seconds(5), reason: "the window was closed").value
  /// ```
  ///
  /// Work that is forced completes at once, and may continue behind its future. Undos are not forced. See
  /// <doc:Cancellation#Grace>.
  ///
  /// - Parameters:
  ///   - options: The options of the first request.
  ///   - period: The time that the work has to complete. Values below 0 are treated as 0. `nil` never forces.
  ///   - reason: The reason of all requests.
  ///   - clock: The clock that measures the period. Defaults to `.system`.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: A future of the report. It succeeds when the scope is settled, or when work remains although it was forced, because
  ///   it is shared and has other consumers.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], grace period: Duration?, reason: CancellationReason? = nil,
    clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future<GraceReport> {
    core.cancel(CancelRequest(options: options, reason: reason, fileID: fileID, line: line), grace: period, clock)
  }
}

extension ScopeCore {
  /// Asks the work to cancel, ends the scope, and forces work that has not completed after the period.
  func cancel(_ request: CancelRequest, grace period: Duration?, _ clock: any FutureClock) -> Future<GraceReport> {
    let cancellation = GracefulCancellation([node]) { _, request in self.forceWork(request) }
    return cancellation.begin(request, period, clock)
  }
}

/// Runs a body with a scope, and waits for everything that the body began in it.
///
/// ```swift
/// let receipt = try await withCancelScope("checkout") { scope in
///   let order = scope.undo(of: scope.run { api.create(draft) }) { api.delete($0.id) }
///   let number = try await order.value
///   let receipt = try await scope.run { api.pay(number) }.value
///   try scope.commit()
///   return receipt
/// }
/// ```
///
/// When the body returns, the scope ends. When the body throws, the work of the scope is asked to cancel. In both cases the
/// function waits until the scope is settled. If the task is cancelled while it waits, the work receives a request with
/// `doNotForwardIfOthersWaiting`, as when a future is awaited.
///
/// When the deadline passes, or when work fails and `failurePolicy` is `cancelsWork`, the work is cancelled, and futures that the
/// body awaits throw. The body itself is not interrupted.
///
/// - Parameters:
///   - name: The name of the scope, for drawings and errors.
///   - deadline: The instant by which the work must have completed. Inside another scope with a deadline, the nearer one counts.
///     Defaults to none.
///   - policy: What happens to the work in flight when the body returns. Defaults to `waitsForWork`.
///   - failurePolicy: What happens when work in the scope fails. Defaults to `continues`.
///   - deadlinePolicy: Whether the function throws when the deadline has passed and the body has returned. Defaults to `fails`.
///   - undoTimeout: The time after which an undo is asked to cancel and counts as failed. Defaults to 30 seconds.
///   - clock: The clock that measures `undoTimeout`. Defaults to `.system`.
///   - body: Begins and awaits work.
/// - Returns: The result of the body.
/// - Throws: ``UndoFailed`` if an undo failed, with the first failure or the error of the body as its `cause`; ``TimeoutError`` if
///   the deadline passed; the first failure of the work if it cancels the scope; the error of the body; `FutureCancelled` if the
///   body returned without a commit and the scope was cancelled.
public nonisolated(nonsending) func withCancelScope<Result>(
  _ name: String = "scope", deadline: FutureDeadline? = nil, whenEnded policy: CancelScope.EndPolicy = .waitsForWork,
  whenWorkFails failurePolicy: CancelScope.FailurePolicy = .continues,
  whenDeadlinePasses deadlinePolicy: CancelScope.DeadlinePolicy = .fails,
  undoTimeout: Duration = .seconds(30), clock: any FutureClock = .system,
  _ body: nonisolated(nonsending) (CancelScope) async throws -> Result
) async throws -> Result {
  let scope = CancelScope(
    name, deadline: .nearer(deadline, CancelScope.currentDeadline), whenEnded: policy, whenWorkFails: failurePolicy,
    whenDeadlinePasses: deadlinePolicy, undoTimeout: undoTimeout, clock: clock)
  let result: Result
  do {
    result = try await CancelScope.$current.withValue(scope.core) { try await body(scope) }
  } catch {
    try await scope.settle(endingWith: error)
    throw error
  }
  try await scope.settle(endingWith: nil)
  return result
}

extension CancelScope {
  /// Ends the scope and waits until it is settled.
  ///
  /// - Parameter error: The error of the body, if there is one.
  fileprivate nonisolated(nonsending) func settle(endingWith error: (any Error)?) async throws {
    if let error {
      future.cancel(reason: .of(.scopeEnded, "the body of the scope threw \(type(of: error))", cause: error))
    } else {
      core.end()
    }
    let outcome = await future.outcome
    // By force, the future completes before its work.
    await core.settled.future.node.waitForOutcome()
    switch outcome {
    case .success: break
    case .failure(var failure as UndoFailed):
      failure.cause = failure.cause ?? error
      throw failure
    case .failure(let failure): throw failure
    case .cancelled(let reason): if error == nil, !core.isCommitted { throw FutureCancelled(reason: reason) }
    }
  }
}
