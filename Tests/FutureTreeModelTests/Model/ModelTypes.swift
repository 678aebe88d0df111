/// The options of a request, with a name for each law.
struct ModelOptions: OptionSet, Hashable {
  let rawValue: UInt8

  /// Law 4 (this future only).
  static let alone = ModelOptions(rawValue: 1)
  /// Law 3 (stopping where others wait).
  static let polite = ModelOptions(rawValue: 2)
  /// Law 5 (force).
  static let force = ModelOptions(rawValue: 4)

  static let all = (0..<8).map { ModelOptions(rawValue: $0) }
}

/// One cancellation request. A reason is a number: see `ModelReason`.
struct ModelRequest: Hashable {
  var options: ModelOptions
  var reason: Int
  /// Whether the request had the force further downstream. Not compared.
  var wasForced = false

  /// Whether the request ends a linger. Law 24 (lingering).
  var endsLinger: Bool { wasForced || options.contains(.force) }

  /// The request without the force.
  var unforced: ModelRequest {
    ModelRequest(options: options.subtracting(.force), reason: reason, wasForced: endsLinger)
  }

  static func == (left: ModelRequest, right: ModelRequest) -> Bool {
    left.options == right.options && left.reason == right.reason
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(options)
    hasher.combine(reason)
  }

  /// Whether the request is stronger than an earlier one: `alone` is weaker than `polite`, and `polite` is weaker than no
  /// option. Force is always applied. Law 9 (handlers run).
  func isStronger(than other: ModelRequest?) -> Bool {
    guard let other else { return true }
    if options.contains(.force) != other.options.contains(.force) { return options.contains(.force) }
    return reach > other.reach
  }

  /// Returns the request that reaches further, or this one of two that reach equally far. A force with a shorter reach does
  /// not replace an earlier request. Law 8 (no request is lost).
  func orFurther(_ other: ModelRequest?) -> ModelRequest {
    guard let other, other.reach > reach else { return self }
    return other
  }

  /// The distance: 1 for this future, 2 for futures without other consumers, 3 for all futures.
  var reach: Int { options.contains(.alone) ? 1 : options.contains(.polite) ? 2 : 3 }
}

/// The reasons that no operation of a program uses.
enum ModelReason {
  /// A cancellation without a reason, of a future that was not asked.
  static let unspecified = -1
  /// A decided join. Law 23 (deciding detaches).
  static let decided = -2

  /// Returns the reason of the force after a grace period.
  static func afterGrace(_ reason: Int) -> Int { reason + 1000 }
}

/// The errors that no operation of a program uses.
enum ModelFailure {
  /// `BrokenPromise`. Law 16 (a dropped promise).
  static let brokenPromise = -1
  /// A promise that was completed with its own future.
  static let ownFuture = -2
  /// The executor dropped the body.
  static let dropped = -3
  /// `TimeoutError`. Law 23 (deciding detaches).
  static let timeout = -4

  /// Returns the number of `UndoFailed`.
  static func undosFailed(undone: Int, _ failures: [UndoFailure]) -> Int {
    failures.reduce(-1000 - undone) { ($0 &* 31 &+ $1.undo) &* 31 &+ $1.error }
  }

  struct UndoFailure: Hashable {
    let undo: Int
    /// The number of the error, or of the reason of a cancellation.
    let error: Int
  }

  /// Returns the number of `AllFailed`, with the errors in their order.
  static func allFailed(_ errors: [Int]) -> Int { errors.reduce(-100) { $0 &* 31 &+ $1 } }
}

/// The outcome of a future.
enum ModelOutcome: Hashable {
  case success(Int)
  case failure(Int)
  case cancelled(reason: Int)

  var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }
}

/// The completion by a promise, a handler or a body.
enum ModelCompletion: Hashable {
  case success(Int)
  case failure(Int)
  /// With the reason of the request, if there is one.
  case cancelled
  case cancelledBecause(Int)
  /// The outcome of the future with this number.
  case using(Int)
}

/// The answer of a handler.
enum ModelAnswer: Hashable {
  /// The program may complete the future through the request later.
  case `continue`
  case complete(ModelCompletion)
}

/// The call of a body, a handler or an observer before it returns. Law 19 (no user code under a lock).
enum ModelAct: Hashable {
  case complete(promise: Int, value: Int)
  case cancel(Int, ModelRequest)
}

/// One call of user code. Events are in the order of the calls.
struct ModelEvent: Hashable {
  enum Kind: UInt8 { case handler, body, observer, undo }

  var kind: Kind
  /// The number of the handler, the observation or the undo, or of the future that has the body.
  var id: Int
  /// The request that a handler received.
  var request: ModelRequest?
  /// The outcome that a body or an observer received. `ensure` receives none.
  var outcome: ModelOutcome?
}

/// The receipt of `cancel`.
struct ModelReceipt: Hashable {
  enum Effect: Hashable {
    case tooLate(ending: Int)
    case duplicate, completed, delivered
    case withheld(by: Int)
    case lingering, stored
  }

  var effect = Effect.stored
  var reached = 0
  var handlers = 0
}

/// The laws by their numbers in DESIGN.md.
enum Law: Int, CaseIterable {
  case requests = 1
  case forwarding, others, alone, force, shared, answers, nothingLost, handlersRun, oneConsumer
  case notBegun, diamonds, tokens, awaiting, tasks, dropped, receipt, provenance, noLock, depth, growth, ordering
  case decided, lingering, grace

  /// The laws that a sequential program without tasks can observe. The others concern threads, tasks, depth and memory.
  static let sequential = allCases.filter { ![.awaiting, .tasks, .depth, .growth].contains($0) }
}

/// The number of decisions by each law.
struct LawTally {
  private(set) var counts = [Int](repeating: 0, count: Law.allCases.count + 1)

  subscript(_ law: Law) -> Int {
    get { counts[law.rawValue] }
    set { counts[law.rawValue] = newValue }
  }
}
