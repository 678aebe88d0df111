import FutureTree
import TestSupport
import Testing

/// The moment at which a future is settled, relative to the code that attaches to it.
enum Moment: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// Before the code attaches.
  case already
  /// After the code attaches, by the same code.
  case immediately
  /// After the code attaches, on another thread.
  case eventually

  var testDescription: String { rawValue }

  /// Returns a future and a closure that settles it with `outcome` before it returns.
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

/// An outcome of a future, and the moment at which the future is settled.
struct Settlement: Sendable, CustomTestStringConvertible {
  let outcome: Outcome<Int>
  let moment: Moment

  var testDescription: String { "\(moment) \(outcome.state)" }
  var state: String { outcome.state }

  func make() -> (future: Future<Int>, settle: () -> Void) { moment.future(outcome) }

  static let fulfilled = Moment.allCases.map { Settlement(outcome: .success(1), moment: $0) }
  static let failed = Moment.allCases.map { Settlement(outcome: .failure(Oops()), moment: $0) }
  static let cancelled = Moment.allCases.map { Settlement(outcome: .cancelled("gone"), moment: $0) }
  /// The settlements that the rules call rejected.
  static let rejected = failed + cancelled
  static let all = fulfilled + rejected
}
