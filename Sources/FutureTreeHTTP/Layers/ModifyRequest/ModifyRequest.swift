import FutureTree

/// A layer that changes each request.
///
/// ```swift
/// let api = ModifyRequest { request in try request.setHeader("Accept", "application/json") } --> SystemLoader()
///
/// let signed = ModifyRequest.deferred { request in keys.current().map { key in try request.signed(with: key) } }
/// ```
///
/// If the closure throws an error or its future fails, the load fails with that error.
///
/// **Cancellation.** While the future of a deferred change is pending, the layer holds the request. A cancellation
/// request is forwarded to that future, and the request is not sent, regardless of the outcome.
///
/// **Reset.** The layer keeps no state. An `Autocancel` before it cancels the pending futures of deferred changes.
/// Without an `Autocancel`, a `ResetGuard` waits for them.
public struct ModifyRequest: HTTPLayer {
  private enum Change: Sendable {
    case now(@Sendable (inout HTTPRequest) throws -> Void)
    case deferred(@Sendable (HTTPRequest) throws -> Future<HTTPRequest>)
  }

  private let change: Change

  private init(change: Change) {
    self.change = change
  }

  /// Creates a layer that changes each request with a closure, and forwards it.
  ///
  /// - Parameter modify: The closure that changes the request in place. It is called outside every lock, on the thread of
  ///   the load.
  public init(_ modify: @escaping @Sendable (_ request: inout HTTPRequest) throws -> Void) {
    self.init(change: .now(modify))
  }

  /// Returns a layer that waits for the future of the closure, and forwards the request that it delivers.
  ///
  /// - Parameter modify: The closure that returns the future. It is called outside every lock, on the thread of the load.
  public static func deferred(
    _ modify: @escaping @Sendable (_ request: HTTPRequest) throws -> Future<HTTPRequest>
  ) -> ModifyRequest {
    ModifyRequest(change: .deferred(modify))
  }

  /// Changes the request, and loads it with `next` when the change is complete.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    do {
      switch change {
      case .now(let modify):
        var request = request
        try modify(&request)
        return next.load(request)
      case .deferred(let modify):
        return try modify(request).flatMap { next.load($0) }.named(.modifyRequest)
      }
    } catch {
      return .failed(error).named(.modifyRequest)
    }
  }
}

extension FutureName {
  fileprivate static let modifyRequest = FutureName("ModifyRequest")
}

extension ModifyRequest {
  /// Returns a layer that sends the time until the deadline of a request, as the field `request-timeout`.
  ///
  /// ```swift
  /// let backend = Timeout() --> Retry() --> ModifyRequest.sendingDeadline() --> SystemLoader()
  /// ```
  ///
  /// The value is the number of milliseconds at the time of the load, and replaces a value of the request. Put the layer after
  /// `Retry` and `Throttle`: each attempt then sends the time that is left. A request without `RequestDeadline` is forwarded
  /// unchanged. The layer does not fail a load at its deadline: `Timeout` does.
  ///
  /// - Returns: A layer that fails with the code `deadlineExceeded` if the deadline has passed.
  public static func sendingDeadline() -> ModifyRequest {
    ModifyRequest { request in
      guard let deadline = request.deadline else { return }
      guard !deadline.isExceeded() else {
        throw HTTPError(.deadlineExceeded, "\(request) was not sent. Its deadline has passed. Allow more time.")
      }
      try request.setHeader("request-timeout", deadline.requestTimeout)
    }
  }

  /// Returns a layer that gives each request a key of its own, by which a server recognizes copies, so that the request can be
  /// repeated.
  ///
  /// ```swift
  /// let api = ModifyRequest.sendingIdempotencyKey() --> Retry() --> SystemLoader()
  /// ```
  ///
  /// The field `Idempotency-Key` has a random UUID in quotes, as the draft of the IETF requires
  /// (draft-ietf-httpapi-idempotency-key-header). Put the layer before `Retry` and `Hedge`: all attempts of a load then have one key,
  /// and both repeat the request. A load that the caller repeats has another key. Use the layer only for servers that know the field:
  /// others run a repeated request twice.
  ///
  /// A request that has the field is forwarded unchanged.
  ///
  /// - Parameters:
  ///   - methods: The methods whose requests receive a key. Other requests are forwarded unchanged.
  ///   - random: The source of the keys.
  public static func sendingIdempotencyKey(
    for methods: Set<HTTPMethod> = [.post, .patch], random: RandomSource = .system
  ) -> ModifyRequest {
    ModifyRequest { request in
      guard methods.contains(request.method), !request.headers.contains("Idempotency-Key") else { return }
      try request.setHeader("Idempotency-Key", "\"\(random.uuid())\"")
    }
  }
}
