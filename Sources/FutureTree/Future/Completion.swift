/// A result that completes a promise or that a body returns: an outcome, or a future that will have one.
///
/// ```swift
/// let page = download.onComplete { outcome -> Completion<Page> in
///   switch outcome {
///   case .success(let data): .success(Page(data))
///   case .failure: .completeUsing(cachedPage())
///   case .cancelled: .cancelled
///   }
/// }
/// ```
public enum Completion<Value: Sendable>: Sendable {
  /// Completes with a value.
  case success(Value)
  /// Completes with an error.
  case failure(any Error)
  /// Completes as cancelled, with a reason.
  case cancelled(CancellationReason)
  /// Completes with the outcome of another future. Cancellation requests are then forwarded to that future.
  case completeUsing(Future<Value>)

  /// A cancelled completion with the reason for the request that was received.
  @inlinable public static var cancelled: Completion { .cancelled(.unspecified) }

  /// Creates a completion from an outcome.
  @inlinable public init(_ outcome: Outcome<Value>) {
    switch outcome {
    case .success(let value): self = .success(value)
    case .failure(let error): self = .failure(error)
    case .cancelled(let reason): self = .cancelled(reason)
    }
  }

  /// Creates the completion of a body that threw. Errors that represent a cancellation cancel the future. Law 15 (a task as a
  /// source).
  init(throwing error: any Error) {
    if let cancelled = error as? FutureCancelled {
      self = .cancelled(cancelled.reason)
    } else {
      self = error is CancellationError ? .cancelled : .failure(error)
    }
  }
}

extension Completion where Value == Void {
  /// A success without a value.
  public static var success: Completion { .success(()) }
}

// MARK: - Results as futures

extension Completion {
  /// A future with this result: a completed future, or the future of `completeUsing`.
  ///
  /// ```swift
  /// let page = job.onSuccess { $0.result.future }
  /// ```
  ///
  /// - Complexity: O(1) and one allocation, or none for `completeUsing`.
  @inlinable public var future: Future<Value> {
    switch self {
    case .success(let value): .succeeded(value)
    case .failure(let error): .failed(error)
    case .cancelled(let reason): .cancelled(reason)
    case .completeUsing(let future): future
    }
  }
}

extension Outcome {
  /// A completed future with this outcome.
  ///
  /// ```swift
  /// let page = job.onSuccess { $0.lastOutcome.future }
  /// ```
  ///
  /// - Complexity: O(1) and one allocation.
  @inlinable public var future: Future<Value> { Completion(self).future }
}

/// A handler's answer to a cancellation request. See <doc:Cancellation#Handlers-answer>.
public enum CancelRequestResponse<Value: Sendable>: Sendable {
  /// Continues the work. The promise is completed later.
  case `continue`
  /// Completes the promise now.
  case complete(Completion<Value>)
}

extension Completion {
  /// Completes the node whose body returned this completion, or links the node to the future that the body returned.
  @inlinable @inline(__always)
  func resolve(_ node: Node, innerRole: Node.InnerRole) -> Bool {
    switch self {
    case .success(let value): node.succeed(value)
    case .failure(let error): node.fail(error)
    case .cancelled(let reason): node.cancel(reason)
    case .completeUsing(let future):
      // An inner future has usually ended. Its value is copied without a link.
      future.node.hasSucceeded
        ? node.succeed(future.node.value(as: Value.self)) : node.link(to: future.node, as: innerRole)
    }
  }
}
