/// The operator that made a future: the operator table of the cancellation contract, as a value.
///
/// This type describes every difference between operators in the handling of requests. The rest of the core therefore does
/// not refer to individual operators.
@usableFromInline
enum Operator: UInt8, Sendable, CaseIterable {
  // Sources: requests are delivered to their handlers.
  case promise, task, timer, futureQueue
  /// The timer of an operator: see `Node.isPause`.
  case pause
  // Operators with one upstream.
  case work, map, flatMap, onSuccess, recover, mapError, onFailure, onCancel, onComplete, ensure
  case timeout, delayed, shielded
  // Operators with several upstreams.
  case all, zip, allSettled, race, any, traverse, retry
  // The end of a scope.
  case scope

  /// The name of the operator in code.
  var name: String { Operator.names[Int(rawValue)] }

  /// Computed once: reflection takes longer than an operator.
  private static let names = allCases.map { "\($0)" }

  /// Whether the body runs for an upstream with this ending.
  func runsBody(on ending: Ending) -> Bool {
    switch self {
    case .promise, .task, .timer, .futureQueue, .pause, .timeout, .shielded: false
    case .all, .zip, .allSettled, .race, .any, .traverse, .retry, .scope: false
    case .work, .map, .flatMap, .onSuccess, .delayed: ending == .succeeded
    case .recover, .mapError, .onFailure: ending == .failed
    case .onCancel: ending == .cancelled
    case .onComplete, .ensure: true
    }
  }

  /// Whether a body that has not begun is skipped when its future is asked. Law 11 (bodies that have not begun).
  var skipsBodyWhenAsked: Bool {
    switch self {
    case .work, .map, .flatMap, .onSuccess, .delayed, .recover: true
    default: false
    }
  }

  /// Whether the body runs when its branch completes early under laws 3 to 5. Law 11 (bodies that have not begun).
  var runsBodyWhenEndedEarly: Bool { runsBody(on: .cancelled) }

  /// Whether the future has no upstream, so that requests are delivered to its handlers.
  var isSource: Bool {
    switch self {
    case .promise, .task, .timer, .futureQueue, .pause: true
    default: false
    }
  }

  /// Whether the future can wait for several futures. Its node is then a `Join`.
  var isJoin: Bool { rawValue >= Operator.all.rawValue }

  /// Whether one input can decide the future while the others are pending.
  var endsWithOneInput: Bool { self == .race || self == .any }

  /// Whether the future waits for its inputs without interest in them. Law 22 (ordering is not interest).
  var onlyOrders: Bool { self == .scope }

  /// Whether requests are forwarded upstream. A shield applies law 4 (this future only) to each request.
  var forwardsRequests: Bool { self != .shielded }
}
