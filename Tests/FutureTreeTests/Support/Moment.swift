import FutureTree
import TestSupport
import Testing

/// When a future is settled, seen from whoever attaches something to it.
enum Moment: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// Before.
  case already
  /// Afterwards, by the code that attaches.
  case immediately
  /// Afterwards, on another thread.
  case eventually

  var testDescription: String { rawValue }

  /// A future, and what has it settled with `outcome` when it returns.
  func future(_ outcome: Outcome<Int>) -> (future: Future<Int>, settle: () -> Void) {
    let promise = Promise<Int>()
    let complete: @Sendable () -> Void = { promise.complete(with: outcome) }
    switch self {
    case .already:
      complete()
      return (promise.future, {})
    case .immediately:
      return (promise.future, complete)
    case .eventually:
      return (promise.future, { onAnotherThread(complete) })
    }
  }
}

/// How a future ends, at which moment.
struct Settlement: Sendable, CustomTestStringConvertible {
  let outcome: Outcome<Int>
  let moment: Moment

  var testDescription: String { "\(moment) \(outcome.state)" }
  var state: String { outcome.state }

  func make() -> (future: Future<Int>, settle: () -> Void) { moment.future(outcome) }

  static let fulfilled = Moment.allCases.map { Settlement(outcome: .success(1), moment: $0) }
  static let failed = Moment.allCases.map { Settlement(outcome: .failure(Oops()), moment: $0) }
  static let cancelled = Moment.allCases.map { Settlement(outcome: .cancelled("gone"), moment: $0) }
  /// What the rules call rejected.
  static let rejected = failed + cancelled
  static let all = fulfilled + rejected
}
