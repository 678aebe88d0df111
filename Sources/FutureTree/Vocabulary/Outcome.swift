/// How a future ended.
///
/// ```swift
/// switch await user.outcome {
/// case .success(let user): show(user)
/// case .failure(let error): report(error)
/// case .cancelled(let reason): log("gave up: \(reason)")
/// }
/// ```
public enum Outcome<Value: Sendable>: Sendable {
  /// The value that was asked for.
  case success(Value)
  /// What went wrong.
  case failure(any Error)
  /// The work was given up, and why.
  case cancelled(CancellationReason)
}

extension Outcome {
  /// Returns the value, or throws what stands in its way.
  ///
  /// - Throws: the error of a failure, or `FutureCancelled` with the reason.
  @inlinable public func get() throws -> Value {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error
    case .cancelled(let reason): throw FutureCancelled(reason: reason)
    }
  }

  /// Whether the future succeeded, failed or was cancelled, without the value.
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

/// The three ways in which a future ends, without what came of it.
public enum Ending: Sendable, Hashable {
  /// With a value.
  case succeeded
  /// With an error.
  case failed
  /// It was given up.
  case cancelled
}

/// Thrown where the value of a cancelled future is asked for.
///
/// `CancellationError` is never used for this: it means that the *awaiting task* was cancelled (law 14).
public struct FutureCancelled: Error, Hashable, CustomStringConvertible {
  /// Why the future was cancelled, and which line asked.
  public let reason: CancellationReason

  /// For bodies that end their future `.cancelled` by throwing.
  @inlinable public init(reason: CancellationReason) {
    self.reason = reason
  }

  public var description: String { "The future was cancelled: \(reason)" }
}
