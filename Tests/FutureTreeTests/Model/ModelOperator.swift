/// What makes a future: the operator table of DESIGN.md, as data.
///
/// To add an operator, add a case and its line in `rows`; then `Handle.derive` or `LibraryRunner.join` has to call it.
/// The generator, the model and the shrinker take it from the table.
enum ModelOperator: UInt8, CaseIterable {
  case promise
  case map, flatMap
  case onSuccess, onSuccessFuture, onSuccessCompletion
  case recover, recoverWith, mapError
  case onFailure, onCancel, ensure
  case onComplete, onCompleteFuture, onCompleteCompletion
  case shielded, timeout
  case all, allSettled, race, any

  /// What an operator does with one way of ending of its upstream.
  enum Reaction {
    /// Ends the same way.
    case pass
    /// Runs its body, whose answer counts.
    case body
    /// Runs its body, and ends the same way.
    case bodyThenPass
    /// A join: counts the input as there, and ends when all are.
    case gather
    /// A join: ends the same way, and lets go of the inputs left.
    case decide
  }

  /// What a body can return.
  enum Answers {
    case none, value, error, future, completion
  }

  /// One line of the table.
  struct Row {
    let succeeds, fails, cancelled: Reaction
    let answers: Answers
    /// Law 11: whether the body does not begin once its future was asked.
    var isSkippedWhenAsked = false
    /// Law 11: whether the body runs although its branch ended early.
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
    case .promise: Row(.pass, .pass, .pass)
    case .map, .onSuccess: Row(.body, .pass, .pass, .value, skips: true)
    case .flatMap, .onSuccessFuture: Row(.body, .pass, .pass, .future, skips: true)
    case .onSuccessCompletion: Row(.body, .pass, .pass, .completion, skips: true)
    case .recover: Row(.pass, .body, .pass, .value, skips: true)
    case .recoverWith: Row(.pass, .body, .pass, .future, skips: true)
    case .mapError: Row(.pass, .body, .pass, .error)
    case .onFailure: Row(.pass, .bodyThenPass, .pass)
    case .onCancel: Row(.pass, .pass, .bodyThenPass, always: true)
    case .ensure: Row(.bodyThenPass, .bodyThenPass, .bodyThenPass, always: true)
    case .onComplete: Row(.body, .body, .body, .value, always: true)
    case .onCompleteFuture: Row(.body, .body, .body, .future, always: true)
    case .onCompleteCompletion: Row(.body, .body, .body, .completion, always: true)
    case .shielded, .timeout: Row(.pass, .pass, .pass)
    case .all: Row(.gather, .decide, .decide)
    case .allSettled: Row(.gather, .gather, .gather)
    case .race: Row(.decide, .decide, .decide)
    case .any: Row(.decide, .gather, .gather)
    }
  }

  /// Whether it treats each request as law 4.
  var isShield: Bool { self == .shielded }

  var isJoin: Bool { row.succeeds == .gather || row.succeeds == .decide }
}
