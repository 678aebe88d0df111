/// What made a future: the operator table of the cancellation contract, as a value.
///
/// Everything in which one operator differs from another while a request to cancel passes is told here, so that the
/// rest of the core knows no operator by name.
@usableFromInline
enum Operator: UInt8, Sendable {
  case promise
  case work
  case map
  case flatMap
  case onSuccess
  case recover
  case onFailure
  case onCancel
  case onComplete
  case ensure
  case all

  /// Whether the body has something to say about an upstream that ended so.
  func runsBody(on ending: Ending) -> Bool {
    switch self {
    case .promise, .all: false
    case .work, .map, .flatMap, .onSuccess: ending == .succeeded
    case .recover, .onFailure: ending == .failed
    case .onCancel: ending == .cancelled
    case .onComplete, .ensure: true
    }
  }

  /// Law 11: whether a body that has not begun when its future is asked to cancel does not begin.
  var skipsBodyWhenAsked: Bool {
    switch self {
    case .work, .map, .flatMap, .onSuccess, .recover: true
    case .promise, .onFailure, .onCancel, .onComplete, .ensure, .all: false
    }
  }

  /// Law 11: whether the body runs even when its branch ends early under laws 3 to 5.
  var runsBodyWhenEndedEarly: Bool { runsBody(on: .cancelled) }
}
