/// The operator table of DESIGN.md, as data. A case is an operator, a promise or a timer, that makes a future.
///
/// To add an operator, add a case and its row in `rows`, and a call in `Handle.derive` or `LibraryRunner.join`.
/// The generator, the model and the shrinker read the table.
enum ModelOperator: UInt8, CaseIterable {
  case promise
  /// Work in a queue.
  case queued
  /// The source of a scope, created with the scope and before it.
  case open
  case scope
  /// The timer of `delayed`, created with its operator and before it.
  case pause
  case map, flatMap, onSuccess
  case recover, recoverWith, mapError
  case onFailure, onCancel, ensure
  case onComplete, onCompleteCompletion
  case shielded, timeout, delayed
  case all, allSettled, race, any

  /// The reaction of an operator to one kind of outcome of its upstream.
  enum Reaction {
    /// Completes with the same outcome.
    case pass
    /// Runs its body, and completes with the result.
    case body
    /// Runs its body, and completes with the same outcome.
    case bodyThenPass
    /// A join: counts the input, and completes when all inputs have completed.
    case gather
    /// A scope: something else completes it.
    case wait
    /// A join: completes with the same outcome, and detaches from the remaining inputs.
    case decide
  }

  /// The kinds of results of a body.
  enum Answers {
    case none, value, error, future, completion
  }

  /// One row of the table.
  struct Row {
    let succeeds, fails, cancelled: Reaction
    let answers: Answers
    /// Whether the body does not begin after a request. Law 11 (bodies that have not begun).
    var isSkippedWhenAsked = false
    /// Whether the body runs after its branch ended early. Law 11 (bodies that have not begun).
    var alwaysRuns = false

    init(
      _ succeeds: Reaction, _ fails: Reaction, _ cancelled: Reaction, _ answers: Answers = .none,
      skips: Bool = false, always: Bool = false
    ) {
      (self.succeeds, self.fails, self.cancelled, self.answers) = (succeeds, fails, cancelled, answers)
      (isSkippedWhenAsked, alwaysRuns) = (skips, always)
    }

    func reaction(to outcome: ModelOutcome) -> Reaction {
      switch outcome {
      case .success: succeeds
      case .failure: fails
      case .cancelled: cancelled
      }
    }
  }

  var row: Row { Self.rows[Int(rawValue)] }

  private static let rows = allCases.map { operation in
    switch operation {
    case .scope: Row(.wait, .wait, .wait)
    case .promise, .queued, .open, .pause: Row(.pass, .pass, .pass)
    case .map: Row(.body, .pass, .pass, .value, skips: true)
    case .flatMap, .onSuccess: Row(.body, .pass, .pass, .future, skips: true)
    case .recover: Row(.pass, .body, .pass, .value, skips: true)
    case .recoverWith: Row(.pass, .body, .pass, .future, skips: true)
    case .mapError: Row(.pass, .body, .pass, .error)
    case .onFailure: Row(.pass, .bodyThenPass, .pass)
    case .onCancel: Row(.pass, .pass, .bodyThenPass, always: true)
    case .ensure: Row(.bodyThenPass, .bodyThenPass, .bodyThenPass, always: true)
    case .onComplete: Row(.body, .body, .body, .value, always: true)
    case .onCompleteCompletion: Row(.body, .body, .body, .completion, always: true)
    case .shielded, .timeout: Row(.pass, .pass, .pass)
    case .delayed: Row(.body, .pass, .pass, skips: true)
    case .all: Row(.gather, .decide, .decide)
    case .allSettled: Row(.gather, .gather, .gather)
    case .race: Row(.decide, .decide, .decide)
    case .any: Row(.decide, .gather, .gather)
    }
  }

  /// Whether it treats each request as law 4 (this future only) does.
  var isShield: Bool { self == .shielded }

  /// Whether it stores a request that no handler has received.
  var isSource: Bool { self == .promise || self == .queued }

  /// Whether no program can name its future.
  var isHidden: Bool { self == .pause || self == .open }

  var isJoin: Bool { row.succeeds == .gather || row.succeeds == .decide }
}
