/// The options of a request, as the laws name them.
struct ModelOptions: OptionSet, Hashable {
  let rawValue: UInt8

  /// Law 4: this future only.
  static let alone = ModelOptions(rawValue: 1)
  /// Law 3: not where others wait.
  static let polite = ModelOptions(rawValue: 2)
  /// Law 5: now.
  static let force = ModelOptions(rawValue: 4)

  static let all = (0..<8).map { ModelOptions(rawValue: $0) }
}

/// One wish. A reason is a number; see `ModelReason`.
struct ModelRequest: Hashable {
  var options: ModelOptions
  var reason: Int

  /// Law 9: `alone` is weaker than `polite`, and that weaker than no option; force always is applied.
  func isStronger(than other: ModelRequest?) -> Bool {
    guard let other else { return true }
    if options.contains(.force) != other.options.contains(.force) { return options.contains(.force) }
    return reach > other.reach
  }

  /// Law 8: a force that reaches less far takes nothing back of what was asked. Of two that reach as far, the first.
  func orFurther(_ other: ModelRequest?) -> ModelRequest {
    guard let other, other.reach > reach else { return self }
    return other
  }

  /// How far it goes: 1, this future; 2, while nobody else waits; 3, all.
  var reach: Int { options.contains(.alone) ? 1 : options.contains(.polite) ? 2 : 3 }
}

/// The reasons that no operation of a program gives.
enum ModelReason {
  /// A cancellation without a reason, in a future that was not asked.
  static let unspecified = -1
  /// Law 23: a join was decided.
  static let decided = -2
}

/// The errors that no operation of a program gives.
enum ModelFailure {
  /// Law 16: `BrokenPromise`.
  static let brokenPromise = -1
  /// A promise that was completed with its own future.
  static let ownFuture = -2
  /// The executor dropped the body.
  static let dropped = -3
  /// Law 23: `TimeoutError`.
  static let timeout = -4

  /// `AllFailed`, with the errors in their order.
  static func allFailed(_ errors: [Int]) -> Int { errors.reduce(-100) { $0 &* 31 &+ $1 } }
}

/// How a future ended.
enum ModelOutcome: Hashable {
  case success(Int)
  case failure(Int)
  case cancelled(reason: Int)

  var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }
}

/// What a promise, a handler or a body completes its future with.
enum ModelCompletion: Hashable {
  case success(Int)
  case failure(Int)
  /// With the reason of the request that asked for it, if there is one.
  case cancelled
  case cancelledBecause(Int)
  /// The outcome of the future with this number.
  case using(Int)
}

/// What a handler answers.
enum ModelAnswer: Hashable {
  /// The program may complete through the request later.
  case `continue`
  case complete(ModelCompletion)
}

/// What a body, a handler or an observer does before it returns (law 19).
enum ModelAct: Hashable {
  case complete(promise: Int, value: Int)
  case cancel(Int, ModelRequest)
}

/// What user code saw, in the order in which it was called.
struct ModelEvent: Hashable {
  enum Kind: UInt8 { case handler, body, observer }

  var kind: Kind
  /// The number of the handler or the observation, or of the future that has the body.
  var id: Int
  /// What a handler was asked.
  var request: ModelRequest?
  /// What a body or an observer was given; `ensure` is given nothing.
  var outcome: ModelOutcome?
}

/// What `cancel` returned.
struct ModelReceipt: Hashable {
  enum Effect: Hashable {
    case tooLate(ending: Int)
    case duplicate, completed, delivered
    case withheld(by: Int)
    case stored
  }

  var effect = Effect.stored
  var reached = 0
  var handlers = 0
}

/// The laws by their numbers in DESIGN.md.
enum Law: Int, CaseIterable {
  case wish = 1
  case forwarding, others, alone, force, shared, answers, nothingLost, handlersRun, oneConsumer
  case notBegun, diamonds, tokens, awaiting, tasks, dropped, receipt, provenance, noLock, depth, growth, ordering
  case decided

  /// The laws of which a sequential program without tasks sees something: the others are about threads, tasks, depth
  /// and memory.
  static let sequential = allCases.filter { ![.awaiting, .tasks, .depth, .growth, .ordering].contains($0) }
}

/// How often each law decided something.
struct LawTally {
  private(set) var counts = [Int](repeating: 0, count: Law.allCases.count + 1)

  subscript(_ law: Law) -> Int {
    get { counts[law.rawValue] }
    set { counts[law.rawValue] = newValue }
  }
}
