// Scopes of work. Law 22 (ordering is not interest): a scope waits for its work, and has no interest in it.

extension ContractModel {
  /// What a scope does when it is ended, when work in it fails, and when its deadline passes.
  struct ScopePolicy: Hashable {
    let endCancelsWork: Bool
    let failureCancelsWork: Bool
    let deadline: Deadline

    enum Deadline {
      case none, fails, succeeds
    }
  }

  struct Scope {
    let policy: ScopePolicy
    /// The future of the scope.
    let future: Int
    /// The scope that waits until this one is settled.
    var parent: Int?
    /// Pending work, and work whose observers have not been called.
    var working = 0
    /// All work so far.
    var added: Set<Int> = []
    /// Whether its end has asked the work to cancel.
    var hasAskedWork = false
    var isEnded = false
    var isSettled = false
    /// The reason of the first request.
    var reason: Int?
    /// The outcome that a failure or the deadline has decided, if that was first.
    var decided: ModelOutcome?
    var hasTimer: Bool
    var isCommitted = false
    /// The undos that are due unless the scope commits, in the order in which their steps succeeded.
    var undos: [Int] = []
    var isUndoing = false
    var undone = 0
    var failures: [ModelFailure.UndoFailure] = []

    /// A source that is pending until the scope ends. It receives the requests to the scope.
    var open: Int { future - 1 }
  }

  mutating func makeScope(_ policy: ScopePolicy) {
    nodes.append(Node(operation: .open))
    nodes.append(Node(operation: .scope))
    let scope = Scope(policy: policy, future: nodes.count - 1, hasTimer: policy.deadline != .none)
    if scope.hasTimer { timers.append(.scope(scopes.count)) }
    nodes[scope.future].isCounted = mistake == .givesScopesInterest
    nodes[scope.future].listeners = [.scope(scopes.count)]
    nodes[scope.future].upstream = [scope.open]
    nodes[scope.open].listeners = [.future(scope.future)]
    scopes.append(scope)
  }

  /// Makes a scope that is work of another one. If the other one has ended, the new one is cancelled.
  mutating func makeScope(_ policy: ScopePolicy, in parent: Int) {
    makeScope(policy)
    let nested = scopes[scopes.count - 1].future
    if scopes[parent].isEnded {
      _ = cancel(nested, ModelRequest(options: [], reason: ModelReason.decided))
    } else {
      scopes[scopes.count - 1].parent = parent
      scopes[parent].working += 1
      wait(for: nested, in: parent)
    }
  }

  /// Adds work that has begun. Returns false if the scope has ended.
  mutating func add(_ work: Int, to number: Int) -> Bool {
    guard !scopes[number].isEnded else { return false }
    scopes[number].working += 1
    if nodes[work].outcome != nil {
      ended(work, in: number)
    } else {
      wait(for: work, in: number)
      nodes[work].listeners.append(.work(work, scope: number))
    }
    return true
  }

  /// Passes requests to the scope or to its work on to pending work. Law 8 (no request is lost).
  private mutating func wait(for work: Int, in number: Int) {
    guard scopes[number].added.insert(work).inserted else { return }
    order(scopes[number].future, after: work)
    if scopes[number].hasAskedWork { ask(work, ModelRequest(options: [], reason: ModelReason.decided)) }
  }

  private mutating func order(_ scope: Int, after input: Int) {
    if nodes[scope].outcome == nil {
      nodes[scope].upstream.append(input)
      nodes[input].listeners.append(.future(scope))
      if nodes[scope].isCounted { gainConsumer(input) }
    }
    if let asked = nodes[scope].furthest {
      if !asked.options.contains(.alone) { ask(input, asked.unforced) }
    } else if nodes[scope].outcome != nil {
      ask(input, ModelRequest(options: .polite, reason: ModelReason.decided))
    }
  }

  private mutating func ask(_ input: Int, _ request: ModelRequest) {
    _ = propagation([Start(node: input, request: request, detaches: false)])
  }

  /// Ends a scope without a request. Work in flight may be asked to cancel, without the scope.
  mutating func endScope(_ number: Int) {
    let scope = scopes[number]
    if !scope.isEnded {
      scopes[number].isEnded = true
      finish(scope.open, .success(0))
      if scope.policy.endCancelsWork {
        scopes[number].hasAskedWork = true
        let request = ModelRequest(options: [], reason: ModelReason.decided)
        let work = nodes[scope.future].upstream.filter { $0 != scope.open }
        settle()
        _ = propagation(work.map { Start(node: $0, request: request, detaches: false) })
      }
    }
    proceed(number, isOutermost: true)
  }

  /// Ends a scope with the first request to it.
  mutating func endScope(_ number: Int, asked reason: Int) {
    receive(reason, in: number)
    if !scopes[number].isEnded {
      scopes[number].isEnded = true
      finish(scopes[number].open, .cancelled(reason: reason))
    }
    proceed(number)
  }

  /// Drops the last reference to a scope.
  mutating func dropScope(_ number: Int) {
    guard !scopes[number].isEnded else { return }
    receive(ModelReason.decided, in: number)
    scopes[number].isEnded = true
    finish(scopes[number].open, .cancelled(reason: ModelReason.decided))
    settle()
    _ = cancel(scopes[number].future, ModelRequest(options: [], reason: ModelReason.decided))
    proceed(number, isOutermost: true)
  }

  /// Registers that work has ended.
  mutating func ended(_ work: Int, in number: Int) {
    if scopes[number].policy.failureCancelsWork, case .failure = nodes[work].outcome {
      stop(number, nodes[work].outcome!)
    }
    scopes[number].working -= 1
    proceed(number)
  }

  /// Ends a scope whose deadline has passed.
  mutating func deadlinePassed(of number: Int) {
    scopes[number].hasTimer = false
    let fails = scopes[number].policy.deadline == .fails
    stop(number, fails ? .failure(ModelFailure.timeout) : .success(0))
  }

  /// Cancels the work of a scope, unless a request or another decision was first.
  private mutating func stop(_ number: Int, _ outcome: ModelOutcome) {
    receive(nodes[scopes[number].future].asked?.reason, in: number)
    guard isUndecided(number) else { return }
    scopes[number].decided = outcome
    _ = cancel(scopes[number].future, ModelRequest(options: [], reason: ModelReason.decided))
  }

  /// Whether no request was received, nothing has decided the outcome, and no undo has begun.
  private func isUndecided(_ number: Int) -> Bool {
    let scope = scopes[number]
    let hasUndone = scope.isUndoing || scope.undone > 0 || !scope.failures.isEmpty
    return scope.reason == nil && scope.decided == nil && !scope.isSettled && !hasUndone
  }

  /// Keeps what the work has done. Returns false if that was decided.
  mutating func commit(_ number: Int) -> Bool {
    receive(nodes[scopes[number].future].asked?.reason, in: number)
    guard isUndecided(number) else { return false }
    scopes[number].isCommitted = true
    return true
  }

  private mutating func receive(_ reason: Int?, in number: Int) {
    if scopes[number].reason == nil, !scopes[number].isSettled { scopes[number].reason = reason }
  }

  /// - Parameter isOutermost: Whether no callback runs. Then the consumers of the scope are notified before the outer scope.
  private mutating func proceed(_ number: Int, isOutermost: Bool = false) {
    while true {
      receive(nodes[scopes[number].future].asked?.reason, in: number)
      let scope = scopes[number]
      guard scope.isEnded, scope.working == 0, !scope.isUndoing, !scope.isSettled else { return }
      guard !scope.isCommitted, let undo = scopes[number].undos.popLast() else { break }
      scopes[number].isUndoing = true
      guard let outcome = run(undo, isOutermost: isOutermost) else { return wait(forUndo: undo) }
      undid(undo, outcome)
    }
    tally[.ordering] += 1
    scopes[number].isSettled = true
    scopes[number].hasTimer = false
    let scope = scopes[number]
    let failure = ModelFailure.undosFailed(undone: scope.undone, scope.failures)
    let outcome = scope.decided ?? scope.reason.map { .cancelled(reason: $0) } ?? .success(0)
    if let parent = scope.parent, scope.isCommitted {
      for undo in scope.undos { undos[undo].scope = parent }
      scopes[parent].undos = (scopes[parent].undos + scope.undos).sorted { undos[$0].position < undos[$1].position }
    }
    finish(scope.future, scope.failures.isEmpty ? outcome : .failure(failure), isOwn: false)
    if isOutermost { settle() }
    if let parent = scope.parent { turns.append(.ended(scope.future, scope: parent)) }
  }
}

// MARK: - Undos

extension ContractModel {
  /// The compensation for a step of a scope.
  struct Undo {
    let step: Int
    /// The scope that runs it: a committed scope passes its undos to the outer one.
    var scope: Int
    let body: ModelCompletion
    let act: ModelAct?
    /// Its future. The two after it limit its time, and show it upstream of the scope.
    var future = 0
    /// The number of steps with an undo that succeeded before this one.
    var position = 0
    /// Whether its scope was settled when it was registered.
    var isLate = false
    /// Whether it never runs.
    var isKept = false
  }

  mutating func undo(_ undo: Undo) {
    let (step, number) = (undo.step, undo.scope)
    undos.append(undo)
    undos[undos.count - 1].future = nodes.count
    undos[undos.count - 1].isLate = scopes[number].isSettled
    undos[undos.count - 1].isKept = scopes[number].isSettled && scopes[number].isCommitted
    for _ in 1...2 { nodes.append(Node(operation: .timeout, isHidden: true)) }
    nodes.append(Node(operation: .promise, isHidden: true, isHandled: true))
    if !scopes[number].isSettled {
      scopes[number].working += 1
      if nodes[step].outcome == nil { wait(for: step, in: number) }
      settle()
    }
    guard nodes[step].outcome == nil else { return stepEnded(undos.count - 1) }
    nodes[step].listeners.append(.step(undos.count - 1))
  }

  /// Makes the undo of a step due if the step has succeeded.
  mutating func stepEnded(_ undo: Int) {
    let (step, scope) = (undos[undo].step, undos[undo].scope)
    if case .success = nodes[step].outcome {
      if undos[undo].isLate {
        if !undos[undo].isKept { _ = run(undo, isOutermost: false) }
      } else {
        undos[undo].position = undos.map(\.position).max()! + 1
        scopes[scope].undos.append(undo)
      }
    }
    if !undos[undo].isLate { ended(step, in: scope) }
  }

  /// Calls the body of an undo. Returns its outcome if it is known at once: in a callback, it is known only after the callback.
  private mutating func run(_ number: Int, isOutermost: Bool) -> ModelOutcome? {
    let undo = undos[number]
    events.append(ModelEvent(kind: .undo, id: number, request: nil, outcome: nil))
    perform(undo.act)
    if isOutermost { settle() }
    if let outcome = outcome(of: undo.body) {
      if isOutermost { return outcome }
      turns.append(.finish(undo.future, outcome))
    } else if let inner = undo.body.inner {
      nodes[undo.future].upstream = [inner]
      nodes[inner].listeners.append(.future(undo.future))
      gainConsumer(inner)
    }
    return nil
  }

  private func outcome(of body: ModelCompletion) -> ModelOutcome? {
    switch body {
    case .using(let inner): nodes[inner].outcome
    case .success(let value): .success(value)
    case .failure(let error): .failure(error)
    case .cancelledBecause(let reason): .cancelled(reason: reason)
    case .cancelled: .cancelled(reason: ModelReason.unspecified)
    }
  }

  /// Continues when an undo ends or is late. A request to the scope does not reach the undo.
  private mutating func wait(forUndo number: Int) {
    let undo = undos[number]
    let (limited, shown) = (undo.future + 1, undo.future + 2)
    nodes[undo.future].listeners = [.future(limited)]
    nodes[undo.future].interest = 1
    nodes[limited].upstream = [undo.future]
    nodes[limited].listeners = [.undo(number)]
    timers.append(.future(limited))
    order(scopes[undo.scope].future, after: shown)
  }

  mutating func undoEnded(_ number: Int) {
    let undo = undos[number]
    undid(number, nodes[undo.future + 1].outcome!)
    finish(undo.future + 2, .success(0))
    proceed(undo.scope)
  }

  private mutating func undid(_ undo: Int, _ outcome: ModelOutcome) {
    let scope = undos[undo].scope
    scopes[scope].isUndoing = false
    switch outcome {
    case .success: scopes[scope].undone += 1
    case .failure(let error): scopes[scope].failures.append(ModelFailure.UndoFailure(undo: undo, error: error))
    case .cancelled(let reason): scopes[scope].failures.append(ModelFailure.UndoFailure(undo: undo, error: reason))
    }
  }
}
