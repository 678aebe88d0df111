/// What a promise is completed with, or what a body answers with: an outcome, or a future that will have one.
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
  /// With a value.
  case success(Value)
  /// With an error.
  case failure(any Error)
  /// Given up, and why.
  case cancelled(CancellationReason)
  /// The outcome of another future, to which requests to cancel are then forwarded.
  case completeUsing(Future<Value>)

  /// Cancelled, with the reason of the request that asked for it.
  @inlinable public static var cancelled: Completion { .cancelled(.unspecified) }

  /// Creates the completion with an outcome.
  @inlinable public init(_ outcome: Outcome<Value>) {
    switch outcome {
    case .success(let value): self = .success(value)
    case .failure(let error): self = .failure(error)
    case .cancelled(let reason): self = .cancelled(reason)
    }
  }

  /// The completion of a body that threw: errors that mean a cancellation cancel (law 15).
  init(throwing error: any Error) {
    if let cancelled = error as? FutureCancelled {
      self = .cancelled(cancelled.reason)
    } else {
      self = error is CancellationError ? .cancelled : .failure(error)
    }
  }
}

extension Completion where Value == Void {
  /// A success with nothing to tell.
  public static var success: Completion { .success(()) }
}

/// What the owner of a source answers to a request to cancel (law 7).
public enum CancelRequestResponse<Value: Sendable>: Sendable {
  /// The request was heard; the promise is completed later, with whatever comes of it.
  case `continue`
  /// The promise is completed now.
  case complete(Completion<Value>)
}

extension Completion {
  /// Ends a future whose body returned this, or links it to the future that the body returned.
  @inlinable @inline(__always)
  func resolve(_ node: Node, innerRole: Node.InnerRole = .work) -> Bool {
    switch self {
    case .success(let value): node.succeed(value)
    case .failure(let error): node.fail(error)
    case .cancelled(let reason): node.cancel(reason)
    case .completeUsing(let future):
      // The usual inner future has ended: its value is copied without a link.
      future.node.hasSucceeded
        ? node.succeed(future.node.value(as: Value.self)) : node.link(to: future.node, as: innerRole)
    }
  }
}
