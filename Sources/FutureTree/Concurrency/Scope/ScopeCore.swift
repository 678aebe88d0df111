import Synchronization

/// The shared part of a scope: its future, its work and its undos.
final class ScopeCore: Sendable {
  let name: String
  let node = ScopeNode()
  /// Completes when the scope has ended, its work has completed and its undos have run, whatever happened to its future.
  let settled = Promise<Void>()
  let settings: CancelScope.Settings
  private let deadline = ScopeDeadline()
  private let parent: ScopeCore?
  /// A source that is pending until the scope ends. It is the first input of the scope's future, and receives its requests.
  private let open = Promise<Void>()
  private let state = Locked(ScopeState())
  /// Whether a reset waits for the undos of this scope.
  private let isAwaited = Locked(false)

  init(_ name: String, _ settings: CancelScope.Settings, parent: ScopeCore?) {
    self.name = name
    self.settings = settings
    self.parent = parent
    Future<Void>(node: node).named(name)
    node.add(open.future.named("open").node)
    // Until the scope ends, its source retains the handler, and so this object.
    open.onRequestCancel { request in
      self.end(asked: request.reason)
      return .complete(.cancelled)
    }
    // The future can end early: by force, or because it only detached.
    Future<Void>(node: node).observe { outcome in
      if case .cancelled(let reason) = outcome { self.end(asked: reason) }
    }
  }

  var future: Future<Void> { Future(node: node) }
  /// The nearest deadline of this scope and the outer ones. Setting it sets that of this scope.
  var nearestDeadline: FutureDeadline? {
    get { .nearer(deadline.value, parent?.nearestDeadline) }
    set { deadline.set(newValue, of: self) }
  }
  var outermost: ScopeCore { parent?.outermost ?? self }
  var undone: Int { state.withLock { $0.undone } }
  var isEnded: Bool { state.withLock { $0.isEnded } }
  var isCommitted: Bool { state.withLock { $0.isCommitted } }
  var canUndoDuringReset: Bool {
    get { isAwaited.value || parent?.canUndoDuringReset == true }
    set { isAwaited.value = newValue }
  }

  // MARK: - Work

  func run<Value>(_ body: () throws -> Future<Value>) -> Future<Value> {
    guard state.withLock({ $0.begin() }) else { return refused() }
    let work = Trampoline.run { beginning { Future<Value>.attempt(body) } }
    guard !isAwaited(by: work.node) else {
      workEnded(with: work.outcomeIfCompleted)
      return .failed(CompletedWithItself())
    }
    track(work)
    return work
  }

  func add<Value>(_ work: Future<Value>) -> Bool {
    guard !isAwaited(by: work.node), state.withLock({ $0.begin() }) else { return false }
    track(work)
    return true
  }

  /// Whether work waits for this scope. A scope with such work would never be settled.
  private func isAwaited(by work: Node) -> Bool { work.waits(for: node) }

  /// Calls a body whose loads have the deadline of the scope.
  private func beginning<Value>(_ body: () -> Future<Value>) -> Future<Value> {
    guard ScopeDeadline.isInUse, nearestDeadline != nil else { return body() }
    return CancelScope.$current.withValue(self, operation: body)
  }

  /// Forces the work in flight, but no undo.
  func forceWork(_ request: CancelRequest) -> GracefulCancellation.Force {
    let receipt = node.forceWork(request)
    return GracefulCancellation.Force(receipt: receipt, willComplete: !node.hasWork)
  }

  private func refused<Value>() -> Future<Value> {
    if let reason = state.withLock({ $0.reason }) { return .cancelled(reason) }
    return .failed(ScopeEnded(name))
  }

  private func track<Value>(_ work: Future<Value>) {
    node.add(work.node)
    work.observe { outcome in self.workEnded(with: outcome) }
  }

  /// Adds a nested scope. This scope also waits for its undos, whatever happens to its future.
  func add(_ nested: ScopeCore) -> Bool {
    guard state.withLock({ $0.begin() }) else { return false }
    node.add(nested.node)
    nested.settled.future.observe { _ in self.workEnded(with: nested.future.outcomeIfCompleted) }
    return true
  }

  private func workEnded<Value>(with outcome: Outcome<Value>?) {
    if settings.failurePolicy == .cancelsWork, case .failure(let error) = outcome {
      stop(with: .failure(error), because: .of(.scopeEnded, "other work of the scope failed", cause: error))
    }
    state.withLock { $0.workEnded() }
    proceed()
  }

  /// Ends the scope and cancels its work, unless a request or another decision was first.
  private func stop(with outcome: Outcome<Void>, because reason: CancellationReason) {
    if withReceivedRequest({ $0.decide(outcome) }) { future.cancel(reason: reason) }
  }

  /// - Parameter duration: The time since the deadline was first set.
  func deadlinePassed(after duration: Duration) {
    let error = TimeoutError(duration: duration, name: name)
    let outcome: Outcome<Void> = settings.deadlinePolicy == .fails ? .failure(error) : .success(())
    stop(with: outcome, because: .of(.deadline, "the deadline of the scope passed", cause: error))
  }

  // MARK: - Undos

  func undo<Value, Undone>(
    of step: Future<Value>, named name: String, _ body: @escaping @Sendable (Value) throws -> Future<Undone>
  ) {
    let run = { @Sendable (value: Value) in
      CancelScope.$undoing.withValue(self) {
        CancelScope.outside { Future<Undone>.attempt { try body(value) } }
      }.map { _ in }
    }
    guard !isAwaited(by: step.node), state.withLock({ $0.beginStep() }) else {
      step.observe { [isCommitted = state.withLock { $0.isCommitted }] outcome in
        if case .success(let value) = outcome, !isCommitted { _ = run(value) }
      }
      return
    }
    node.add(step.node)
    step.observe { outcome in
      if case .success(let value) = outcome {
        self.state.withLock { $0.register(name) { run(value) } }
      }
      self.workEnded(with: outcome)
    }
  }

  func commit() throws {
    if withReceivedRequest({ $0.commit() }) { return }
    if let reason = state.withLock({ $0.reason }) { throw FutureCancelled(reason: reason) }
    throw ScopeEnded(name)
  }

  // MARK: - The end

  /// Ends the scope.
  ///
  /// - Parameter request: The reason, if a request ends it.
  func end(asked request: CancellationReason? = nil) {
    if state.withLock({ $0.end(asked: request) }) {
      if request == nil {
        open.succeed(())
        if settings.policy == .cancelsWork {
          node.cancelWork(CancelRequest(options: [], reason: .of(.scopeEnded, "the scope ended")))
        }
      } else {
        open.complete(.cancelled)
      }
    }
    proceed()
  }

  /// Ends the scope when the last reference to it is dropped, unless it has ended.
  func drop() {
    let reason = CancellationReason.of(.abandoned, "the scope was deallocated")
    guard state.withLock({ $0.isEnded ? false : $0.end(asked: reason) }) else { return }
    open.complete(.cancelled)
    future.cancel(reason: reason)
    proceed()
  }

  /// Calls a body with the state, in which the request that the future has received is recorded.
  private func withReceivedRequest<Result>(_ body: (inout ScopeState) -> Result) -> Result {
    let request = node.request
    return state.withLock { state in
      state.receive(request?.reason)
      return body(&state)
    }
  }

  /// Runs due undos one after another, and settles the scope.
  private func proceed() {
    while let action = withReceivedRequest({ $0.next() }) {
      switch action {
      case .settle(let outcome, let passed):
        if let parent, !passed.isEmpty { parent.state.withLock { $0.adopt(passed) } }
        deadline.end()
        node.end(with: outcome)
        settled.succeed(())
      case .undo(let undo):
        guard let outcome = result(of: undo) else { return }
        state.withLock { $0.undid(undo, outcome) }
      }
    }
  }

  /// Runs an undo. Returns its outcome if it has completed. Otherwise `proceed` continues when it completes.
  private func result(of undo: ScopeState.Undo) -> Outcome<Void>? {
    let work = Trampoline.run { undo.run() }.timeout(after: settings.undoTimeout, clock: settings.clock)
    if let outcome = work.outcomeIfCompleted { return outcome }
    // Continues when it is asked, so that trees show it. No request reaches the work.
    let shown = Promise<Void>()
    shown.onRequestCancel { _ in .continue }
    node.wait(for: shown.future.named("undo \(undo.name)").node)
    work.observe { outcome in
      self.state.withLock { $0.undid(undo, outcome) }
      shown.succeed(())
      self.proceed()
    }
    return nil
  }
}

/// The life cycle of a scope, as a value. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. An ended scope begins no work. It is settled when it has ended, no work is in flight, and every due undo has completed.
/// 2. One undo runs at a time, in the reverse order in which their steps succeeded, also across nested scopes.
/// 3. Once a request was received, or a failure or the deadline has decided the outcome, the scope does not commit.
struct ScopeState {
  /// The compensation for a step that has succeeded.
  struct Undo {
    let name: String
    /// The position of the success of the step among all steps.
    let position: Int
    let run: @Sendable () -> Future<Void>
  }

  enum Action {
    case undo(Undo)
    /// The scope is settled. A committed child passes its undos to its parent.
    case settle(Outcome<Void>, passing: [Undo])
  }

  private(set) var isEnded = false
  private(set) var isCommitted = false
  private var isSettled = false
  /// The reason of the first request, if there was one.
  private(set) var reason: CancellationReason?
  /// The outcome that a failure or the deadline has decided, if that was first.
  private var decided: Outcome<Void>?
  private var working = 0
  private(set) var undone = 0
  private var undos: [Undo] = []
  private var isUndoing = false
  private var failures: [UndoFailed.Failure] = []

  /// Counts work that begins. Returns false, and does nothing, if the scope has ended.
  mutating func begin() -> Bool {
    guard !isEnded else { return false }
    working += 1
    return true
  }

  /// Counts a step with an undo. The scope waits for it even if it has ended. Returns false if the scope is settled.
  mutating func beginStep() -> Bool {
    guard !isSettled else { return false }
    working += 1
    return true
  }

  mutating func workEnded() { working -= 1 }

  /// Registers the undo of a step that has just succeeded.
  mutating func register(_ name: String, _ run: @escaping @Sendable () -> Future<Void>) {
    let position = ScopeState.successes.add(1, ordering: .relaxed).newValue
    undos.append(Undo(name: name, position: position, run: run))
  }

  /// The number of steps with an undo that have succeeded, in all scopes.
  private static let successes = Atomic(0)

  mutating func adopt(_ passed: [Undo]) {
    undos = (undos + passed).sorted { $0.position < $1.position }
  }

  /// Returns false if the scope had ended.
  mutating func end(asked request: CancellationReason? = nil) -> Bool {
    receive(request)
    defer { isEnded = true }
    return !isEnded
  }

  /// Records the first request.
  mutating func receive(_ request: CancellationReason?) {
    if reason == nil, !isSettled { reason = request }
  }

  /// Records the outcome of a scope that a failure or the deadline ends. Returns false if that was not first.
  mutating func decide(_ outcome: Outcome<Void>) -> Bool {
    guard isUndecided else { return false }
    decided = outcome
    return true
  }

  /// Whether no request was received, nothing has decided the outcome, and no undo has begun.
  private var isUndecided: Bool {
    reason == nil && decided == nil && !isSettled && !isUndoing && undone == 0 && failures.isEmpty
  }

  /// Returns false if the outcome was decided, or if undos have begun.
  mutating func commit() -> Bool {
    guard isUndecided else { return false }
    isCommitted = true
    return true
  }

  mutating func undid(_ undo: Undo, _ outcome: Outcome<Void>) {
    isUndoing = false
    switch outcome {
    case .success: undone += 1
    case .failure(let error): failures.append(UndoFailed.Failure(name: undo.name, error: error))
    case .cancelled(let reason):
      failures.append(UndoFailed.Failure(name: undo.name, error: FutureCancelled(reason: reason)))
    }
  }

  /// Returns the next action, if one is due.
  mutating func next() -> Action? {
    guard isEnded, working == 0, !isUndoing, !isSettled else { return nil }
    if !isCommitted, let undo = undos.popLast() {
      isUndoing = true
      return .undo(undo)
    }
    isSettled = true
    defer { undos = [] }
    return .settle(outcome, passing: isCommitted ? undos : [])
  }

  private var outcome: Outcome<Void> {
    var cause: (any Error)?
    if case .failure(let error) = decided { cause = error }
    if !failures.isEmpty { return .failure(UndoFailed(undone: undone, failures: failures, cause: cause)) }
    return decided ?? reason.map { .cancelled($0) } ?? .success(())
  }
}

/// A scope as resets of chains see it. It does not keep the `CancelScope` alive.
package struct TrackedScope: Sendable, Equatable {
  fileprivate let core: ScopeCore

  package static func == (left: TrackedScope, right: TrackedScope) -> Bool { left.core === right.core }

  /// Completes when the scope is settled, whatever happens to its future.
  package var settled: Future<Void> { core.settled.future }

  package var future: Future<Void> { core.future }

  /// Asks the scope to cancel for a reset that waits until it is settled. Its undos may use what the reset refuses to others.
  package func cancelForReset(because reason: CancellationReason) {
    core.canUndoDuringReset = true
    core.future.cancel(reason: reason)
  }

  /// Whether the caller is the body of an undo for which a reset waits.
  package static var isUndoing: Bool { CancelScope.undoing?.canUndoDuringReset == true }

  /// The outermost scope of the undo whose body is the caller.
  package static var ofUndo: TrackedScope? { CancelScope.undoing.map { TrackedScope(core: $0.outermost) } }
}

extension CancelScope {
  package var tracked: TrackedScope { TrackedScope(core: core) }
}
