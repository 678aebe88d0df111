/// The shared part of a scope: its future, its work and its undos.
final class ScopeCore: Sendable {
  let name: String
  let node = ScopeNode()
  /// Completes when the scope has ended, its work has completed and its undos have run, whatever happened to its future.
  let settled = Promise<Void>()
  let settings: CancelScope.Settings
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
    let work = Trampoline.run { Future<Value>.attempt(body) }
    guard !isAwaited(by: work.node) else {
      workEnded()
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
  private func isAwaited(by work: Node) -> Bool { work === node || work.waits(for: node) }

  private func refused<Value>() -> Future<Value> {
    if let reason = state.withLock({ $0.reason }) { return .cancelled(reason) }
    return .failed(ScopeEnded(name))
  }

  private func track<Value>(_ work: Future<Value>) {
    node.add(work.node)
    work.observe { _ in self.workEnded() }
  }

  /// Adds a nested scope. This scope also waits for its undos, whatever happens to its future.
  func add(_ nested: ScopeCore) -> Bool {
    guard state.withLock({ $0.begin() }) else { return false }
    node.add(nested.node)
    nested.settled.future.observe { _ in self.workEnded() }
    return true
  }

  private func workEnded() {
    state.withLock { $0.workEnded() }
    proceed()
  }

  // MARK: - Undos

  func undo<Value, Undone>(
    of step: Future<Value>, named name: String, _ body: @escaping @Sendable (Value) throws -> Future<Undone>
  ) {
    let run = { @Sendable (value: Value) in
      CancelScope.$undoing.withValue(self) { Future<Undone>.attempt { try body(value) } }.map { _ in }
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
      self.workEnded()
    }
  }

  func commit() throws {
    let request = node.request
    let isCommitted = state.withLock { state in
      state.receive(request?.reason)
      return state.commit()
    }
    if isCommitted { return }
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
        if settings.policy == .cancelsWork { node.cancelWork(CancelRequest(options: [], reason: "the scope ended")) }
      } else {
        open.complete(.cancelled)
      }
    }
    proceed()
  }

  /// Ends the scope when the last reference to it is dropped, unless it has ended.
  func drop() {
    let reason: CancellationReason = "the scope was deallocated"
    guard state.withLock({ $0.isEnded ? false : $0.end(asked: reason) }) else { return }
    open.complete(.cancelled)
    future.cancel(reason: reason)
    proceed()
  }

  /// Runs due undos one after another, and settles the scope.
  private func proceed() {
    let request = node.request
    let next = {
      self.state.withLock { state in
        state.receive(request?.reason)
        return state.next()
      }
    }
    while let action = next() {
      switch action {
      case .settle(let outcome, let passed):
        if let parent, !passed.isEmpty { parent.state.withLock { $0.adopt(passed) } }
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
    node.add(shown.future.named("undo \(undo.name)").node)
    work.observe { outcome in
      self.state.withLock { $0.undid(undo, outcome) }
      shown.succeed(())
      self.proceed()
    }
    return nil
  }
}
