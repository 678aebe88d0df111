/// The result of a completed future.
///
/// ```swift
/// switch await user.outcome {
/// case .success(let user): show(user)
/// case .failure(let error): report(error)
/// case .cancelled(let reason): log("gave up: \(reason)")
/// }
/// ```
public enum Outcome<Value: Sendable>: Sendable {
  /// The future succeeded with a value.
  case success(Value)
  /// The future failed with an error.
  case failure(any Error)
  /// The future was cancelled, for this reason.
  case cancelled(CancellationReason)
}

extension Outcome {
  /// Returns the value, or throws the error.
  ///
  /// - Throws: The error of a failure, or `FutureCancelled` with the reason.
  @inlinable public func get() throws -> Value {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error
    case .cancelled(let reason): throw FutureCancelled(reason: reason)
    }
  }

  /// The kind of this outcome, without its value, error or reason.
  @inlinable public var ending: Ending {
    switch self {
    case .success: .succeeded
    case .failure: .failed
    case .cancelled: .cancelled
    }
  }
}

extension Outcome: Equatable where Value: Equatable {
  /// Compares successes by value, cancellations by reason, and failures by the description of their errors.
  public static func == (left: Outcome, right: Outcome) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)): left == right
    case (.failure(let left), .failure(let right)): String(reflecting: left) == String(reflecting: right)
    case (.cancelled(let left), .cancelled(let right)): left == right
    default: false
    }
  }
}

/// The kind of an outcome: success, failure or cancellation.
public enum Ending: Sendable, Hashable {
  /// The future succeeded.
  case succeeded
  /// The future failed.
  case failed
  /// The future was cancelled.
  case cancelled
}

/// The error that is thrown when code reads the value of a cancelled future.
///
/// `CancellationError` is not used for this: it means that the *awaiting task* was cancelled. See
/// <doc:Cancellation#Awaiting>.
public struct FutureCancelled: Error, Hashable, CustomStringConvertible {
  /// The reason for the cancellation, with the file and line of the request.
  public let reason: CancellationReason

  /// Creates the error. A body throws it to complete its future as `.cancelled`.
  @inlinable public init(reason: CancellationReason) {
    self.reason = reason
  }

  public var description: String {
    let text = "The future was cancelled: \(reason)"
    return text.hasSuffix(".") ? text : text + "."
  }
}
