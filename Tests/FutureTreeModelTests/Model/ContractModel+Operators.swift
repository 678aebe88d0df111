// Reactions of operators to outcomes, and the jobs of executors and observers.

extension ContractModel {
  /// Notifies a future that its upstream has completed.
  mutating func receive(_ future: Int, of upstream: Int) {
    guard nodes[future].outcome == nil, let outcome = nodes[upstream].outcome,
      let index = nodes[future].upstream.firstIndex(of: upstream)
    else { return }
    nodes[future].upstream.remove(at: index)
    if nodes[future].isLinked { return finish(future, outcome, isOwn: false) }
    receive(future, outcome)
  }

  mutating func receive(_ future: Int, _ outcome: ModelOutcome) {
    guard nodes[future].outcome == nil else { return }
    switch nodes[future].row.reaction(to: outcome) {
    case .pass: finish(future, outcome, isOwn: false)
    case .body, .bodyThenPass: begin(future, outcome)
    case .gather: gather(future)
    case .wait: break
    case .decide: decide(future, outcome)
    }
  }

  mutating func begin(_ future: Int, _ outcome: ModelOutcome) {
    if nodes[future].row.isSkippedWhenAsked, let asked = nodes[future].asked {
      tally[.notBegun] += 1
      return finish(future, skipped(asked, outcome))
    }
    if nodes[future].operation == .delayed { return beginPause(of: future, outcome) }
    guard nodes[future].isOnExecutor else { return runBody(future, outcome, counts: true) }
    nodes[future].queued = outcome
    jobs.append(.body(future))
  }

  /// Returns the outcome of a future whose body does not begin. A failure passes. Law 11 (bodies that have not begun).
  func skipped(_ request: ModelRequest, _ outcome: ModelOutcome) -> ModelOutcome {
    if case .failure = outcome { outcome } else { .cancelled(reason: request.reason) }
  }

  mutating func runBody(_ future: Int, _ outcome: ModelOutcome, counts: Bool) {
    let isBlind = nodes[future].operation == .ensure
    events.append(ModelEvent(kind: .body, id: future, request: nil, outcome: isBlind ? nil : outcome))
    nodes[future].isRunning = true
    perform(nodes[future].act)
    nodes[future].isRunning = false
    guard counts else {
      tally[.notBegun] += 1  // Law 11 (bodies that have not begun): the result is ignored.
      return
    }
    if nodes[future].row.reaction(to: outcome) == .bodyThenPass { return finish(future, outcome, isOwn: false) }
    resolve(future, nodes[future].body, isCleanUp: outcome.isCancelled)
  }

  /// Performs the call of a callback. Any call is legal there, and its completions are delivered after the callback returns.
  /// Law 19 (no user code under a lock).
  mutating func perform(_ act: ModelAct?) {
    guard let act else { return }
    tally[.noLock] += 1
    switch act {
    case .complete(let promise, let value): _ = complete(promise, .success(value))
    case .cancel(let future, let request): _ = cancel(future, request)
    }
  }

  mutating func runEarly(_ future: Int) {
    runBody(future, nodes[future].outcome!, counts: false)
  }

  /// Completes a join whose inputs have all completed without a decision.
  private mutating func gather(_ future: Int) {
    guard nodes[future].upstream.isEmpty else { return }
    let outcomes = nodes[future].inputs.compactMap { nodes[$0].outcome }
    switch nodes[future].operation {
    case .any:
      let errors = outcomes.compactMap { if case .failure(let error) = $0 { error } else { nil } }
      finish(future, errors.isEmpty ? outcomes[0] : .failure(ModelFailure.allFailed(errors)), isOwn: false)
    case .allSettled where nodes[future].asked != nil:
      finish(future, .cancelled(reason: nodes[future].asked!.reason))
    default:
      finish(future, .success(outcomes.reduce(0) { $0 &* 31 &+ $1.number }))
    }
  }

  /// Begins to wait for the timer of an operator.
  private mutating func beginPause(of future: Int, _ outcome: ModelOutcome) {
    let pause = future - 1
    nodes[pause].elapsed = outcome
    timers.append(.future(pause))
    link(future, to: pause, isCleanUp: false)
  }

  /// Ends pauses, and decides timeouts that expire. Law 23 (deciding detaches).
  mutating func expireTimers() {
    let expired = timers
    timers = []
    for timer in expired where isWaiting(timer) {
      switch timer {
      case .grace(let grace): force(grace)
      case .scope(let scope): deadlinePassed(of: scope)
      case .future(let future):
        if let outcome = nodes[future].elapsed {
          finish(future, outcome, isOwn: false)
        } else {
          decide(future, .failure(ModelFailure.timeout))
        }
      }
      settle()
    }
  }

  /// The number of timers that are set.
  var timerCount: Int { timers.count(where: isWaiting) }

  /// Whether a timer is set. That of a timeout or a pause ends with its operator. Law 4 (this future only).
  private func isWaiting(_ timer: Timer) -> Bool {
    switch timer {
    case .grace(let grace): !graces[grace].hasEnded
    case .scope(let scope): scopes[scope].hasTimer
    case .future(let future):
      nodes[future].outcome == nil && (nodes[future].operation != .pause || nodes[future + 1].outcome == nil)
    }
  }

  private mutating func decide(_ future: Int, _ outcome: ModelOutcome) {
    let remaining = nodes[future].upstream.filter {
      nodes[$0].outcome == nil && nodes[$0].listeners.contains(.future(future))
    }
    var notifications: [Turn] = []
    finish(future, outcome, isOwn: false, notifyingIn: &notifications)
    if !remaining.isEmpty { detach(from: remaining, isCounted: nodes[future].isCounted) }
    // The laws are silent on the order: completions by the request are delivered before the outcome of the join.
    turns += notifications
  }

  /// Detaches a decided join from its remaining inputs. Law 23 (deciding detaches).
  mutating func detach(from inputs: [Int], isCounted: Bool = true) {
    tally[.decided] += 1
    let request = ModelRequest(options: .polite, reason: ModelReason.decided)
    _ = propagation(inputs.map { Start(node: $0, request: request, detaches: isCounted) })
  }
}

// MARK: - Executors and observers

extension ContractModel {
  mutating func runJob(at index: Int) {
    guard jobs.indices.contains(index) else { return }
    switch jobs.remove(at: index) {
    case .body(let future): runQueuedBody(future)
    case .endedEarly(let future): runEarly(future)
    case .handler(let handler, let request): call(handler, request)
    case .observer(let observation, let outcome):
      if observations[observation].isPending { call(observer: observation, outcome) }
    }
  }

  private mutating func runQueuedBody(_ future: Int) {
    if let outcome = nodes[future].queued {
      nodes[future].queued = nil
      runBody(future, outcome, counts: true)
    } else if nodes[future].row.alwaysRuns {
      runEarly(future)
    }
  }

  /// Fails each future whose executor dropped its body. The laws are silent: law 16 (a dropped promise) is the model.
  mutating func dropJobs() {
    let dropped = jobs
    jobs = []
    for case .body(let future) in dropped where nodes[future].queued != nil {
      finish(future, .failure(ModelFailure.dropped))
      settle()
    }
  }

  mutating func observe(_ observation: Observation) {
    observations.append(observation)
    if let outcome = nodes[observation.future].outcome { return observed(observations.count - 1, outcome) }
    nodes[observation.future].listeners.append(.observer(observations.count - 1))
  }

  mutating func endObservation(_ observation: Int) {
    observations[observation].isPending = false
  }

  mutating func observed(_ observation: Int, _ outcome: ModelOutcome) {
    guard observations[observation].isPending else { return }
    guard observations[observation].isOnExecutor else { return call(observer: observation, outcome) }
    jobs.append(.observer(observation, outcome))
  }

  private mutating func call(observer observation: Int, _ outcome: ModelOutcome) {
    observations[observation].isPending = false
    events.append(ModelEvent(kind: .observer, id: observation, request: nil, outcome: outcome))
    perform(observations[observation].act)
  }
}
