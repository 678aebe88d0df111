// Scopes of work, without undos. Law 22 (ordering is not interest): a scope waits for its work, and has no interest in
// it.

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
    var isEnded = false
    var isSettled = false
    /// The reason of the first request.
    var reason: Int?
    /// The outcome that a failure or the deadline has decided, if that was first.
    var decided: ModelOutcome?
    var hasTimer: Bool

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

  /// Passes requests to the scope on to work, while both are pending.
  private mutating func wait(for work: Int, in number: Int) {
    let future = scopes[number].future
    guard nodes[future].outcome == nil, !nodes[future].upstream.contains(work) else { return }
    nodes[future].upstream.append(work)
    nodes[work].listeners.append(.future(future))
    if nodes[future].isCounted { gainConsumer(work) }
  }

  /// Ends a scope without a request. Work in flight may be asked to cancel, without the scope.
  mutating func endScope(_ number: Int) {
    let scope = scopes[number]
    if !scope.isEnded {
      scopes[number].isEnded = true
      finish(scope.open, .success(0))
      if scope.policy.endCancelsWork {
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
    let scope = scopes[number]
    guard scope.reason == nil, scope.decided == nil, !scope.isSettled else { return }
    scopes[number].decided = outcome
    _ = cancel(scope.future, ModelRequest(options: [], reason: ModelReason.decided))
  }

  private mutating func receive(_ reason: Int?, in number: Int) {
    if scopes[number].reason == nil, !scopes[number].isSettled { scopes[number].reason = reason }
  }

  /// - Parameter isOutermost: Whether no callback runs. Then the consumers of the scope are notified before the outer scope.
  private mutating func proceed(_ number: Int, isOutermost: Bool = false) {
    receive(nodes[scopes[number].future].asked?.reason, in: number)
    let scope = scopes[number]
    guard scope.isEnded, scope.working == 0, !scope.isSettled else { return }
    tally[.ordering] += 1
    scopes[number].isSettled = true
    scopes[number].hasTimer = false
    let outcome = scope.decided ?? scope.reason.map { .cancelled(reason: $0) } ?? .success(0)
    finish(scope.future, outcome, isOwn: false)
    if isOutermost { settle() }
    if let parent = scope.parent { turns.append(.ended(scope.future, scope: parent)) }
  }
}
