import FutureTree

/// Information about a completed attempt, which a retry strategy receives.
public struct RetryContext: Sendable {
  /// The request.
  public let request: HTTPRequest
  /// The number of the attempt, counted from 1.
  public let attempt: Int
  /// The result of the attempt. Cancellations are never passed to a strategy, because no attempt follows them.
  public let result: Result<HTTPResponse, any Error>
  /// The time since the request reached the layer.
  public let elapsed: Duration
  /// The source of randomness.
  public let random: RandomSource

  /// Creates a context, for tests of a strategy.
  public init(
    request: HTTPRequest, attempt: Int, result: Result<HTTPResponse, any Error>, elapsed: Duration = .zero,
    random: RandomSource = .system
  ) {
    self.request = request
    self.attempt = attempt
    self.result = result
    self.elapsed = elapsed
    self.random = random
  }

  /// The response, even if a layer converted it to an error with the code `unacceptableStatus`. `nil` if there is none.
  public var response: HTTPResponse? { result.response }

  /// The status of the response.
  public var status: HTTPStatus? { response?.status }

  /// The code of the error, or `nil` if the result is not an `HTTPError`.
  public var code: HTTPError.Code? {
    guard case .failure(let error as HTTPError) = result else { return nil }
    return error.code
  }

  /// Whether the request can be repeated and the failure is transient.
  public var isRetryable: Bool { isRepeatable && isTransientFailure }

  /// Whether sending the request repeatedly has the same effect as sending it once: the method is idempotent (RFC 9110,
  /// section 9.2.2), or the request has the header `Idempotency-Key`, by which the server recognizes copies.
  public var isRepeatable: Bool { request.isRepeatable }

  /// Whether a retry may succeed: the status is 408, 429, 500, 502, 503 or 504, or the code is `unknownHost`,
  /// `cannotConnect`, `connectionLost`, `truncatedBody`, `timedOut` or `streamOverflow`.
  ///
  /// `unknownHost` is included, because name resolution can fail temporarily as well. `insecureConnection` is excluded,
  /// because the next connection would fail in the same way. Responses that cannot be trusted are excluded, because the
  /// server has handled the request.
  public var isTransientFailure: Bool {
    if let status { return RetryContext.statuses.contains(status.code) }
    return code.map(RetryContext.codes.contains) ?? false
  }

  private static let statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
  private static let codes: Set<HTTPError.Code> = [
    .unknownHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut, .streamOverflow,
  ]

  /// Whether no strategy is consulted: the chain is being reset, the deadline has passed, or the body cannot be sent
  /// again.
  var isFinal: Bool { code == .resetInProgress || code == .deadlineExceeded || code == .bodyNotReplayable }

  /// Whether the response indicates a healthy server.
  var showsHealthyServer: Bool { status?.showsHealthyServer ?? false }
}

extension Result<HTTPResponse, any Error> {
  /// The response, even if a layer converted it to an error with the code `unacceptableStatus`. `nil` if there is none.
  var response: HTTPResponse? {
    switch self {
    case .success(let response): response
    case .failure(let error as HTTPError) where error.code == .unacceptableStatus: error.response
    case .failure: nil
    }
  }
}

extension HTTPStatus {
  /// Whether a response with this status indicates a healthy server: it is neither a server error nor 408 or 429.
  var showsHealthyServer: Bool { code < 500 && code != 408 && code != 429 }
}

extension HTTPRequest {
  /// Whether sending the request repeatedly has the same effect as sending it once.
  var isRepeatable: Bool { method.isIdempotent || headers.contains("Idempotency-Key") }
}
