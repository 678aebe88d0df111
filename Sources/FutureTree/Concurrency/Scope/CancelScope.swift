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
/// See <doc:Scopes>. All members can be used from any thread and inside any callback.
public final class CancelScope: Sendable {
  /// What happens to the work in flight when a scope is ended by `end()`.
  public enum EndPolicy: Sendable, Hashable {
    /// The scope waits for the work.
    case waitsForWork
    /// The work is asked to cancel, and the scope waits for it. This includes work whose body runs while the scope is ended.
    case cancelsWork
  }

  struct Settings: Sendable {
    let policy: EndPolicy
    let undoTimeout: Duration
    let clock: any FutureClock
  }

  /// The scope whose undo begins on this thread.
  @TaskLocal static var undoing: ScopeCore?

  let core: ScopeCore

  /// Creates a scope.
  ///
  /// - Parameters:
  ///   - name: The name of the scope, for drawings and errors.
  ///   - policy: What happens to the work in flight when the scope is ended by `end()`. Defaults to `waitsForWork`.
  ///   - undoTimeout: The time after which an undo is asked to cancel and counts as failed. Defaults to 30 seconds.
  ///   - clock: The clock of the deadlines of undos. Defaults to `.system`.
  public convenience init(
    _ name: String = "scope", whenEnded policy: EndPolicy = .waitsForWork, undoTimeout: Duration = .seconds(30),
    clock: any FutureClock = .system
  ) {
    self.init(name, Settings(policy: policy, undoTimeout: undoTimeout, clock: clock), parent: nil)
  }

  private init(_ name: String, _ settings: Settings, parent: ScopeCore?) {
    core = ScopeCore(name, settings, parent: parent)
  }

  deinit {
    core.drop()
  }

  /// The end of the scope. It completes when the scope is settled.
  ///
  /// It succeeds if the scope was ended by `end()`. It is cancelled if a request ended the scope, and fails with ``UndoFailed``
  /// if an undo failed. A forced request completes it at once, and so does `doNotForwardRequest`: then the work and the undos
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
  /// - Parameters:
  ///   - name: The name of the nested scope.
  ///   - policy: What happens to its work when it is ended by `end()`. Defaults to the policy of this scope.
  public func nested(_ name: String, whenEnded policy: EndPolicy? = nil) -> CancelScope {
    let outer = core.settings
    let settings = Settings(policy: policy ?? outer.policy, undoTimeout: outer.undoTimeout, clock: outer.clock)
    let scope = CancelScope(name, settings, parent: core)
    if !core.add(scope.core) { scope.cancel(reason: .of(.scopeEnded, "the outer scope had ended")) }
    return scope
  }
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
/// - Returns: The result of the body.
/// - Throws: The error of the body; ``UndoFailed`` if an undo failed, with the error of the body as its `cause`;
///   `FutureCancelled` if the body returned without a commit and the scope was cancelled.
public nonisolated(nonsending) func withCancelScope<Result>(
  _ name: String = "scope", whenEnded policy: CancelScope.EndPolicy = .waitsForWork,
  undoTimeout: Duration = .seconds(30), clock: any FutureClock = .system,
  _ body: nonisolated(nonsending) (CancelScope) async throws -> Result
) async throws -> Result {
  let scope = CancelScope(name, whenEnded: policy, undoTimeout: undoTimeout, clock: clock)
  let result: Result
  do {
    result = try await body(scope)
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
      failure.cause = error
      throw failure
    case .failure(let failure): throw failure
    case .cancelled(let reason): if error == nil, !core.isCommitted { throw FutureCancelled(reason: reason) }
    }
  }
}
