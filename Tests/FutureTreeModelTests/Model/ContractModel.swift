/// The cancellation contract as a pure value: section 1 of DESIGN.md, written independently of the core.
///
/// The model is sequential: each operation is a mutating function that leaves no work in flight. Futures, handlers, tokens
/// and observations are numbered in the order of their creation. `ContractModel+Propagation.swift` has the requests.
struct ContractModel {
  /// One future.
  struct Node {
    let operation: ModelOperator
    /// Whether no program can name it.
    var isHidden = false
    var body = ModelCompletion.success(0)
    var isOnExecutor = false
    var act: ModelAct?
    var outcome: ModelOutcome?
    /// The futures it waits for. A pending future without one is a source, or its body is queued.
    var upstream: [Int] = []
    /// Whether it waits for a future that a body or a promise returned, whose outcome passes.
    var isLinked = false
    /// Whether it waits for clean-up after a cancellation. Law 8 (no request is lost).
    var isCleaningUp = false
    /// The outcome for a queued body.
    var queued: ModelOutcome?
    /// The outcome of a pause that has begun.
    var elapsed: ModelOutcome?
    /// Whether its body runs.
    var isRunning = false
    var listeners: [Listener] = []
    /// The number of its consumers.
    var interest = 0
    /// Whether it counts as a consumer of its upstream.
    var isCounted = true
    var isShared = false
    var linger = Linger.none
    var asked: ModelRequest?
    /// The request received that reaches furthest upstream.
    var furthest: ModelRequest?
    var withheld: ModelRequest?
    /// The request that a handler answered with a completion.
    var answered: ModelRequest?
    var isSealed = false
    /// Whether a handler has received a request.
    var hasDelivered = false
    var handlers: [Int] = []
    /// Whether the first request calls a handler that answers with `continue`, and is no handler of the program.
    var isHandled = false
    /// Whether a request calls the handler of the queue. Law 22 (ordering is not interest).
    var leavesQueue = false
    /// The inputs of a join.
    var inputs: [Int] = []
    var isUrgent = false

    var row: ModelOperator.Row { operation.row }
  }

  /// The interest of a future in itself. Law 24 (lingering).
  enum Linger {
    case none
    /// The timer has ended.
    case over
    /// It counts as a consumer.
    case hasInterest
    /// It counts, and is the only consumer. The timer runs.
    case isScheduled

    var counts: Bool { self == .hasInterest || self == .isScheduled }
  }

  enum Listener: Hashable {
    case future(Int)
    case observer(Int)
    /// The queue whose body returned the future.
    case queue
    case grace(Int)
    /// A scope, of its own future.
    case scope(Int)
    case work(Int, scope: Int)
    /// The undo of a step.
    case step(Int)
    case undo(Int)
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
    var hasInterest: Bool
    var isAlive = true
  }

  struct Observation {
    let future: Int
    let isOnExecutor: Bool
    let act: ModelAct?
    var isPending = true
  }

  /// A job that an executor received.
  enum Job {
    case body(Int)
    case endedEarly(Int)
    case handler(Int, ModelRequest)
    case observer(Int, ModelOutcome)
  }

  /// A timer that ends when the time advances.
  enum Timer {
    /// A timeout or a pause.
    case future(Int)
    case grace(Int)
    /// The deadline of a scope.
    case scope(Int)
  }

  /// An action after the running callback returns. Law 19 (no user code under a lock).
  enum Turn {
    case notify(Int)
    case endedEarly(Int)
    /// The work of a queue has ended.
    case advanceQueue
    /// A nested scope is settled.
    case ended(Int, scope: Int)
    case finish(Int, ModelOutcome)

    var future: Int? {
      switch self {
      case .notify(let future), .endedEarly(let future): future
      case .advanceQueue, .ended, .finish: nil
      }
    }
  }

  var nodes: [Node] = []
  var handlers: [Handler] = []
  var tokens: [Token] = []
  var observations: [Observation] = []
  var jobs: [Job] = []
  /// The timers that were set, in their order. Some may have ended with their futures.
  var timers: [Timer] = []
  var queue = Queue()
  var graces: [Grace] = []
  var scopes: [Scope] = []
  var undos: [Undo] = []
  var turns: [Turn] = []
  var events: [ModelEvent] = []
  var tally = LawTally()
  /// A deliberate mistake, for the tests of the harness.
  var mistake: Mistake?

  enum Mistake: CaseIterable {
    case ignoresShared, ignoresNewConsumersWhileLingering, callsHandlersFirstInstalledFirst
    case keepsInterestOfDroppedTokens, neverDeliversWithheld, leavesCancelledWorkInTheQueue, forcesNobody,
      givesScopesInterest
  }
}

// MARK: - Making futures

extension ContractModel {
  mutating func makePromise() {
    nodes.append(Node(operation: .promise))
  }

  mutating func derive(_ node: Node, from upstream: Int) {
    if node.operation == .delayed { nodes.append(Node(operation: .pause)) }
    nodes.append(node)
    if node.operation == .timeout { timers.append(.future(nodes.count - 1)) }
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

  /// Begins to wait, and receives the outcomes of completed inputs at once.
  private mutating func wait(_ future: Int, for upstream: [Int]) {
    nodes[future].upstream = upstream
    for input in upstream {
      if nodes[input].outcome != nil {
        receive(future, of: input)
      } else {
        tally[.oneConsumer] += 1  // It counts from its creation.
        nodes[input].listeners.append(.future(future))
        gainConsumer(input)
        // The laws are silent on the order: a decided join detaches from the later inputs one after another.
        if nodes[future].outcome != nil { detach(from: [input]) }
      }
      settle()
    }
  }

  /// Adds a consumer. A future without interest has interest again, up to the source.
  ///
  /// Law 10 (one consumer, one count).
  mutating func gainConsumer(_ future: Int) {
    guard nodes[future].outcome == nil else { return }
    nodes[future].interest += 1
    renewLinger(of: future)
    guard !nodes[future].isCounted, nodes[future].operation != .scope else { return }
    nodes[future].isCounted = true
    tally[.oneConsumer] += 1
    for upstream in nodes[future].upstream { gainConsumer(upstream) }
  }

  mutating func share(_ future: Int) {
    nodes[future].isShared = true
  }
}

// MARK: - Completing

extension ContractModel {
  /// Completes or seals a promise. Returns `false` if it was completed or sealed before. Law 1 (requests, not commands).
  mutating func complete(_ promise: Int, _ completion: ModelCompletion, answering request: ModelRequest? = nil) -> Bool
  {
    guard nodes[promise].outcome == nil, !nodes[promise].isSealed else {
      tally[.requests] += 1
      return false
    }
    releaseHandlers(of: promise)  // Law 7 (handlers answer): sealing releases them too.
    nodes[promise].isSealed = true
    nodes[promise].answered = request  // Law 8 (no request is lost): the answered request is consumed.
    resolve(promise, completion, isCleanUp: false)
    return true
  }

  /// Drops a promise. Law 16 (a dropped promise).
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

  mutating func link(_ future: Int, to inner: Int, isCleanUp: Bool) {
    guard nodes[future].outcome == nil else { return linkTooLate(future, inner, isCleanUp: isCleanUp) }
    guard inner != future else { return finish(future, .failure(ModelFailure.ownFuture)) }
    if let outcome = nodes[inner].outcome { return finish(future, outcome, isOwn: false) }
    nodes[future].upstream = [inner]
    nodes[future].isLinked = true
    nodes[future].isCleaningUp = isCleanUp
    nodes[inner].listeners.append(.future(future))
    if nodes[future].isCounted { gainConsumer(inner) }
    // Law 8 (no request is lost): an earlier request is passed to the inner future, unless a handler answered it, or the
    // inner future is clean-up.
    let stored = [nodes[future].furthest, nodes[future].asked].compactMap { $0 }
    guard !stored.isEmpty else { return }
    tally[.nothingLost] += 1
    let unanswered = stored.first { $0.isStronger(than: nodes[future].answered) }
    if !isCleanUp, let unanswered, !unanswered.options.contains(.alone) {
      _ = propagation([Start(node: future, request: unanswered, detaches: false, isForwarding: true)])
    }
  }

  /// Asks a future that a body returned after its own future was forced, without the force. No future waits for it.
  ///
  /// Law 5 (force).
  private mutating func linkTooLate(_ future: Int, _ inner: Int, isCleanUp: Bool) {
    guard !isCleanUp, nodes[future].asked?.options.contains(.force) == true, let passed = nodes[future].furthest,
      !passed.options.contains(.alone)
    else { return }
    tally[.force] += 1
    _ = cancel(inner, passed.unforced)
  }

  mutating func finish(_ future: Int, _ outcome: ModelOutcome, isOwn: Bool = true) {
    var turn: [Turn] = []
    finish(future, outcome, isOwn: isOwn, notifyingIn: &turn)
    turns += turn
  }

  /// Releases the handlers, except those that a propagation is about to call: all of them run. Law 9 (handlers run).
  private mutating func releaseHandlers(of future: Int) {
    guard nodes[future].asked == nil else { return }
    nodes[future].handlers = []
    nodes[future].leavesQueue = false
  }

  /// Completes a future. Every completion passes through this function.
  mutating func finish(
    _ future: Int, _ outcome: ModelOutcome, isOwn: Bool = true, notifyingIn turns: inout [Turn]
  ) {
    guard nodes[future].outcome == nil else { return }
    nodes[future].outcome = outcome
    // The laws are silent: a cancellation without a reason takes the reason of the first request received.
    if isOwn, let asked = nodes[future].asked, outcome == .cancelled(reason: ModelReason.unspecified) {
      tally[.provenance] += 1
      nodes[future].outcome = .cancelled(reason: asked.reason)
    }
    releaseHandlers(of: future)
    nodes[future].upstream = []
    nodes[future].queued = nil
    turns.append(.notify(future))
  }

  /// Notifies consumers after the callback that completed their future returns. Law 19 (no user code under a lock).
  mutating func settle() {
    while !turns.isEmpty {
      switch turns.removeFirst() {
      case .endedEarly(let future):
        if nodes[future].isOnExecutor { jobs.append(.endedEarly(future)) } else { runEarly(future) }
      case .advanceQueue: advanceQueue()
      case .ended(let work, let scope): ended(work, in: scope)
      case .finish(let future, let outcome): finish(future, outcome, isOwn: false)
      case .notify(let future): notify(future)
      }
    }
  }

  private mutating func notify(_ future: Int) {
    let listeners = nodes[future].listeners
    nodes[future].listeners = []
    if listeners.count > 1 { tally[.oneConsumer] += 1 }  // Consumers are notified in the order of their subscription.
    for listener in listeners {
      switch listener {
      case .future(let consumer): receive(consumer, of: future)
      case .observer(let observation): observed(observation, nodes[future].outcome!)
      case .queue: turns.append(.advanceQueue)
      case .grace(let grace): endGrace(grace)
      case .scope(let scope):
        if case .cancelled(let reason) = nodes[future].outcome { endScope(scope, asked: reason) }
      case .work(let work, let scope): ended(work, in: scope)
      case .step(let undo): stepEnded(undo)
      case .undo(let undo): undoEnded(undo)
      }
    }
  }
}
