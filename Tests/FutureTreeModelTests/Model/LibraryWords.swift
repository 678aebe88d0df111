@testable import FutureTree

/// Reasons that represent the numbers of the model.
enum LibraryReason {
  private static let reasons = (0..<256).map { CancellationReason("\($0)") }
  private static let unspecified = "no reason given"

  static func reason(_ number: Int) -> CancellationReason { reasons[number] }

  static func number(of reason: CancellationReason) -> Int {
    let message = reason.message
    if let number = Int(message) { return number }
    if let number = Int(message.replacing("; not completed within 1 s", with: "")) {
      return ModelReason.afterGrace(number)
    }
    return message == unspecified ? ModelReason.unspecified : ModelReason.decided
  }
}

extension ModelRequest {
  var libraryOptions: CancellationOptions { CancellationOptions(rawValue: options.rawValue) }

  init(_ request: CancelRequest) {
    self.init(
      options: ModelOptions(rawValue: request.options.rawValue), reason: LibraryReason.number(of: request.reason))
  }
}

extension ModelCompletion {
  func library<Value>(_ inner: (any FutureHandle)?, _ make: (Int) -> Value) -> Completion<Value> {
    switch self {
    case .success(let value): .success(make(value))
    case .failure(let error): .failure(ModelError(number: error))
    case .cancelled: .cancelled
    case .cancelledBecause(let reason): .cancelled(LibraryReason.reason(reason))
    case .using: .completeUsing((inner as! Handle<Value>).future)
    }
  }

  /// The number of the inner future.
  var inner: Int? {
    if case .using(let inner) = self { inner } else { nil }
  }
}

extension ModelReceipt {
  init(_ receipt: CancelReceipt) {
    self.init(effect: Effect(receipt.effect), reached: receipt.reached, handlers: receipt.handlers)
  }
}

extension ModelReceipt.Effect {
  init(_ effect: CancelReceipt.Effect) {
    switch effect {
    case .tooLate(let ending): self = .tooLate(ending: ending.number)
    case .duplicate: self = .duplicate
    case .completed: self = .completed
    case .delivered: self = .delivered
    case .withheld(let others): self = .withheld(by: others)
    case .lingering: self = .lingering
    case .stored: self = .stored
    }
  }
}

extension Ending {
  fileprivate var number: Int {
    switch self {
    case .succeeded: 0
    case .failed: 1
    case .cancelled: 2
    }
  }
}

extension ModelGraceReport {
  init(_ report: GraceReport) {
    self.init(
      asked: ModelReceipt(report.asked), forced: report.forced.map(ModelReceipt.init), ending: report.ending?.number)
  }
}

/// An error with a number.
struct ModelError: Error, Hashable {
  let number: Int
}
