import FutureTree
import FutureTreeTesting
import Testing

struct Oops: Error, Hashable, CustomStringConvertible {
  let description: String

  init(_ name: String = "oops") {
    description = name
  }
}

extension Outcome {
  /// `success(1)`, `failure(oops)` or `cancelled`.
  var state: String {
    switch self {
    case .success(let value): "success(\(value))"
    case .failure(let error): "failure(\(error))"
    case .cancelled: "cancelled"
    }
  }

  var reason: CancellationReason? {
    if case .cancelled(let reason) = self { reason } else { nil }
  }

  var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}

extension Future {
  /// `pending`, `success(1)`, `failure(oops)` or `cancelled`.
  var state: String { outcomeIfCompleted?.state ?? "pending" }

  var reason: CancellationReason? { outcomeIfCompleted?.reason }
}

extension CancellationOptions {
  /// `plain`, or the options joined with `+`.
  var text: String {
    var words: [String] = []
    if contains(.doNotForwardRequest) { words.append("doNotForward") }
    if contains(.doNotForwardIfOthersWaiting) { words.append("ifOthers") }
    if contains(.forceImmediately) { words.append("force") }
    return words.isEmpty ? "plain" : words.joined(separator: "+")
  }
}

/// An operator over one upstream that passes the outcome on, for suites that test every operator.
struct Step: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let apply: @Sendable (Future<Int>) -> Future<Int>

  init(_ name: String, _ apply: @escaping @Sendable (Future<Int>) -> Future<Int>) {
    testDescription = name
    self.apply = apply
  }

  private static let promise = Promise<Int>()
  /// A future that does not complete.
  private static let never = promise.future.shared()

  static let every: [Step] = [
    Step("map") { $0.map { $0 } },
    Step("flatMap") { $0.flatMap { .succeeded($0) } },
    Step("onSuccess") { $0.onSuccess { .succeeded($0) } },
    Step("recover") { $0.recover { error in throw error } },
    Step("recoverWith") { $0.recoverWith { error in throw error } },
    Step("onFailure") { $0.onFailure { _ in } },
    Step("onCancel") { $0.onCancel { _ in } },
    Step("onComplete") { $0.onComplete { outcome in Completion(outcome) } },
    Step("ensure") { $0.ensure {} },
    Step("mapError") { $0.mapError { $0 } },
    Step("timeout") { $0.timeout(after: .seconds(1), clock: ManualClock()) },
    Step("all") { Future<Int>.all([$0]).map { $0[0] } },
    Step("zip") { Future.zip($0, Future.succeeded(0)).map { $0.0 } },
    Step("allSettled") { Future<Int>.allSettled([$0]).map { try $0[0].get() } },
    Step("race") { Future<Int>.race([$0, Step.never]) },
    Step("any") { Future<Int>.any([$0]).mapError { ($0 as? AllFailed)?.errors.first ?? $0 } },
    Step("traverse") { future in Future<Int>.traverse([0], atMost: 1) { _ in future }.map { $0[0] } },
    Step("retry") { future in Future<Int>.retry(.constant(attempts: 1)) { _ in future } },
  ]
}

extension Sequence {
  /// Returns the state of each future, in order.
  func states<Value>() -> [String] where Element == Future<Value> {
    map { $0.state }
  }
}
