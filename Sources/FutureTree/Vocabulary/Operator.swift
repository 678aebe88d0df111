/// What made a future: the operator table of the cancellation contract, as a value.
///
/// Everything in which one operator differs from another while a request to cancel passes is told here, so that the
/// rest of the core knows no operator by name.
@usableFromInline
enum Operator: UInt8, Sendable, CaseIterable {
  // Sources: their handlers are asked.
  case promise, task, timer
  // One upstream.
  case work, map, flatMap, onSuccess, recover, mapError, onFailure, onCancel, onComplete, ensure
  case timeout, delayed, shielded
  // Several.
  case all, zip, allSettled, race, any, traverse, retry

  /// As it is called in code.
  var name: String { Operator.names[Int(rawValue)] }

  /// Looked up once: reflection takes longer than an operator.
  private static let names = allCases.map { "\($0)" }

  /// Whether the body has something to say about an upstream that ended so.
  func runsBody(on ending: Ending) -> Bool {
    switch self {
    case .promise, .task, .timer, .timeout, .shielded: false
    case .all, .zip, .allSettled, .race, .any, .traverse, .retry: false
    case .work, .map, .flatMap, .onSuccess, .delayed: ending == .succeeded
    case .recover, .mapError, .onFailure: ending == .failed
    case .onCancel: ending == .cancelled
    case .onComplete, .ensure: true
    }
  }

  /// Law 11: whether a body that has not begun when its future is asked to cancel does not begin.
  var skipsBodyWhenAsked: Bool {
    switch self {
    case .work, .map, .flatMap, .onSuccess, .delayed, .recover: true
    default: false
    }
  }

  /// Law 11: whether the body runs even when its branch ends early under laws 3 to 5.
  var runsBodyWhenEndedEarly: Bool { runsBody(on: .cancelled) }

  /// Whether it has no upstream: what is asked of it is asked of its handlers.
  var isSource: Bool {
    switch self {
    case .promise, .task, .timer: true
    default: false
    }
  }

  /// Whether it may wait for several futures: then its node is a `Join`.
  var isJoin: Bool { rawValue >= Operator.all.rawValue }

  /// Whether a request goes on to what it waits for. A shield treats each request as law 4.
  var forwardsRequests: Bool { self != .shielded }
}
