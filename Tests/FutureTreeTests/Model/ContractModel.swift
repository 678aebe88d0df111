/// The cancellation contract as a pure value: what DESIGN.md section 1 says, read without a look at the core.
///
/// Sequential: each operation is a mutating function that leaves nothing under way. Futures, handlers, tokens and
/// observations are numbered in the order in which they were made. `ContractModel+CancellationPropagation.swift` has the requests.
struct ContractModel {
  /// One future.
  struct Node {
    let operation: ModelOperator
    var body = ModelCompletion.success(0)
    var isOnExecutor = false
    var act: ModelAct?
    var outcome: ModelOutcome?
    /// What it waits for now; a future that has none and is pending is a source, or has a body that is queued.
    var upstream: [Int] = []
    /// Whether it waits for what a body or a promise named, so that an outcome passes.
    var isLinked = false
    /// Law 8: what it waits for is the clean-up after a cancellation.
    var isCleaningUp = false
    /// The outcome that a queued body will be given.
    var queued: ModelOutcome?
    /// Whether its body runs.
    var isRunning = false
    var listeners: [Listener] = []
    /// How many want it.
    var interest = 0
    /// Whether it counts where it waits.
    var isCounted = true
    var isShared = false
    var asked: ModelRequest?
    /// Of what was asked, the request that goes furthest upstream.
    var furthest: ModelRequest?
    var withheld: ModelRequest?
    /// The request that a handler answered by completing.
    var answered: ModelRequest?
    var isSealed = false
    /// Whether a handler has received a request.
    var isHeard = false
    var handlers: [Int] = []
    /// The inputs of a join.
    var inputs: [Int] = []

    var row: ModelOperator.Row { operation.row }
  }

  enum Listener: Hashable {
    case future(Int)
    case observer(Int)
  }

  struct Handler {
    let future: Int
    let answer: ModelAnswer
    let isOnExecutor: Bool
    let act: ModelAct?
    var received: ModelRequest?
    var isEnded = false
  }

  struct Token {
    let future: Int
    var wants: Bool
    var isAlive = true
  }

  struct Observation {
    let future: Int
    let isOnExecutor: Bool
    let act: ModelAct?
    var isPending = true
  }

  /// What an executor was given.
  enum Job {
    case body(Int)
    case endedEarly(Int)
    case handler(Int, ModelRequest)
    case observer(Int, ModelOutcome)
  }

  /// What waits for the end of the callback that runs (law 19).
  enum Turn {
    case tell(Int)
    case endedEarly(Int)

    var future: Int {
      switch self {
      case .tell(let future), .endedEarly(let future): future
      }
    }
  }

  var nodes: [Node] = []
  var handlers: [Handler] = []
  var tokens: [Token] = []
  var observations: [Observation] = []
  var jobs: [Job] = []
  /// The timeouts whose time has not come, in the order in which they were made.
  var timers: [Int] = []
  var turns: [Turn] = []
  var events: [ModelEvent] = []
  var tally = LawTally()
  /// A mistake made on purpose, for the tests of the harness.
  var mistake: Mistake?

  enum Mistake: CaseIterable {
    case ignoresShared, callsHandlersFirstInstalledFirst, keepsInterestOfDroppedTokens, neverDeliversWithheld
  }
}

// MARK: - Making futures

extension ContractModel {
  mutating func makePromise() {
    nodes.append(Node(operation: .promise))
  }

  mutating func derive(_ node: Node, from upstream: Int) {
    nodes.append(node)
    if node.operation == .timeout { timers.append(nodes.count - 1) }
    wait(nodes.count - 1, for: [upstream])
  }

  mutating func join(_ operation: ModelOperator, of inputs: [Int]) {
    nodes.append(Node(operation: operation))
    nodes[nodes.count - 1].inputs = inputs
    if inputs.isEmpty {
      let isSatisfied = operation == .all || operation == .allSettled
      return finish(nodes.count - 1, isSatisfied ? .success(0) : .failure(ModelFailure.allFailed([])))
    }
    wait(nodes.count - 1, for: inputs.reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
  }

  /// Begins to wait, and is told at once of what has completed.
  private mutating func wait(_ future: Int, for upstream: [Int]) {
    nodes[future].upstream = upstream
    for input in upstream {
      if nodes[input].outcome != nil {
        hear(future, of: input)
      } else {
        tally[.oneConsumer] += 1  // It counts from when it is made.
        nodes[input].listeners.append(.future(future))
        want(input)
        // The laws are silent on the order: a join that was decided lets go of the inputs behind one after the other.
        if nodes[future].outcome != nil { letGo(of: [input]) }
      }
      settle()
    }
  }

  /// Law 10: a consumer came; what was wanted no more is wanted again, up to the source.
  mutating func want(_ future: Int) {
    guard nodes[future].outcome == nil else { return }
    nodes[future].interest += 1
    guard !nodes[future].isCounted else { return }
    nodes[future].isCounted = true
    tally[.oneConsumer] += 1
    for upstream in nodes[future].upstream { want(upstream) }
  }

  mutating func share(_ future: Int) {
    nodes[future].isShared = true
  }
}

// MARK: - Completing

extension ContractModel {
  /// Law 1: completes a promise, or seals it; false if it was before.
  mutating func complete(_ promise: Int, _ completion: ModelCompletion, answering request: ModelRequest? = nil) -> Bool
  {
    guard nodes[promise].outcome == nil, !nodes[promise].isSealed else {
      tally[.wish] += 1
      return false
    }
    releaseHandlers(of: promise)  // Law 7: sealing releases them too.
    nodes[promise].isSealed = true
    nodes[promise].answered = request  // Law 8: what was answered is consumed.
    resolve(promise, completion, isCleanUp: false)
    return true
  }

  /// Law 16.
  mutating func drop(_ promise: Int) {
    guard nodes[promise].outcome == nil, !nodes[promise].isSealed else { return }
    tally[.dropped] += 1
    _ = complete(promise, nodes[promise].asked == nil ? .failure(ModelFailure.brokenPromise) : .cancelled)
  }

  mutating func resolve(_ future: Int, _ completion: ModelCompletion, isCleanUp: Bool) {
    switch completion {
    case .success(let value): finish(future, .success(value))
    case .failure(let error): finish(future, .failure(error))
    case .cancelledBecause(let reason): finish(future, .cancelled(reason: reason))
    case .cancelled: finish(future, .cancelled(reason: ModelReason.unspecified))
    case .using(let inner): link(future, to: inner, isCleanUp: isCleanUp)
    }
  }

  private mutating func link(_ future: Int, to inner: Int, isCleanUp: Bool) {
    guard nodes[future].outcome == nil else { return linkTooLate(future, inner, isCleanUp: isCleanUp) }
    guard inner != future else { return finish(future, .failure(ModelFailure.ownFuture)) }
    if let outcome = nodes[inner].outcome { return finish(future, outcome, isOwn: false) }
    nodes[future].upstream = [inner]
    nodes[future].isLinked = true
    nodes[future].isCleaningUp = isCleanUp
    nodes[inner].listeners.append(.future(future))
    if nodes[future].isCounted { want(inner) }
    // Law 8: what was asked before is given to the inner future, unless it was answered, or this is clean-up.
    let stored = [nodes[future].furthest, nodes[future].asked].compactMap { $0 }
    guard !stored.isEmpty else { return }
    tally[.nothingLost] += 1
    let unanswered = stored.first { $0.isStronger(than: nodes[future].answered) }
    if !isCleanUp, let unanswered, !unanswered.options.contains(.alone) {
      _ = propagation([Start(node: future, request: unanswered, leaves: false, isForwarding: true)])
    }
  }

  /// Law 5: what a body returns that ran when its future was forced is asked without the force. Nobody waits for it.
  private mutating func linkTooLate(_ future: Int, _ inner: Int, isCleanUp: Bool) {
    guard !isCleanUp, nodes[future].asked?.options.contains(.force) == true, let passed = nodes[future].furthest,
      !passed.options.contains(.alone)
    else { return }
    tally[.force] += 1
    _ = cancel(inner, ModelRequest(options: passed.options.subtracting(.force), reason: passed.reason))
  }

  mutating func finish(_ future: Int, _ outcome: ModelOutcome, isOwn: Bool = true) {
    var turn: [Turn] = []
    finish(future, outcome, isOwn: isOwn, tellingIn: &turn)
    turns += turn
  }

  /// Law 9: but not those that a propagation is on its way to: all of them run.
  private mutating func releaseHandlers(of future: Int) {
    if nodes[future].asked == nil { nodes[future].handlers = [] }
  }

  /// The one place where a future ends.
  mutating func finish(
    _ future: Int, _ outcome: ModelOutcome, isOwn: Bool = true, tellingIn turns: inout [Turn]
  ) {
    guard nodes[future].outcome == nil else { return }
    nodes[future].outcome = outcome
    // The laws are silent: a cancellation without a reason that passes takes the reason of the first that was asked.
    if isOwn, let asked = nodes[future].asked, outcome == .cancelled(reason: ModelReason.unspecified) {
      tally[.provenance] += 1
      nodes[future].outcome = .cancelled(reason: asked.reason)
    }
    releaseHandlers(of: future)
    nodes[future].upstream = []
    nodes[future].queued = nil
    turns.append(.tell(future))
  }

  /// Law 19: consumers hear of a completion when the callback that made it is done.
  mutating func settle() {
    while !turns.isEmpty {
      switch turns.removeFirst() {
      case .endedEarly(let future):
        if nodes[future].isOnExecutor { jobs.append(.endedEarly(future)) } else { runEarly(future) }
      case .tell(let future): tell(future)
      }
    }
  }

  private mutating func tell(_ future: Int) {
    let listeners = nodes[future].listeners
    nodes[future].listeners = []
    if listeners.count > 1 { tally[.oneConsumer] += 1 }  // Consumers are told in the order in which they came.
    for listener in listeners {
      switch listener {
      case .future(let consumer): hear(consumer, of: future)
      case .observer(let observation): observed(observation, nodes[future].outcome!)
      }
    }
  }
}
