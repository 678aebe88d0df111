import FutureTree

/// What a strategy knows of an attempt that has ended.
public struct RetryContext: Sendable {
  /// What was sent.
  public let request: HTTPRequest
  /// The number of the attempt, counted from 1.
  public let attempt: Int
  /// What came of it. A cancellation is not shown to a strategy: after it there is no other attempt.
  public let result: Result<HTTPResponse, any Error>
  /// How long it is since the request came to the layer.
  public let elapsed: Duration
  /// Where to take randomness from.
  public let random: RandomSource

  /// For tests of a strategy.
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

  /// The answer, also one that a layer has made an error of with the code `unacceptableStatus`; nil if there is none.
  public var response: HTTPResponse? {
    switch result {
    case .success(let response): response
    case .failure(let error as HTTPError) where error.code == .unacceptableStatus: error.response
    case .failure: nil
    }
  }

  /// The status of the answer.
  public var status: HTTPStatus? { response?.status }

  /// The code of the error; nil if there is an answer.
  public var code: HTTPError.Code? {
    guard case .failure(let error as HTTPError) = result else { return nil }
    return error.code
  }

  /// Whether the request may be sent twice, and what came of it may be better the next time.
  public var isRetryable: Bool { isRepeatable && isTransientFailure }

  /// Whether sending it twice is sending it once: its method says so (RFC 9110, section 9.2.2), or it has a field
  /// `Idempotency-Key`, by which the server tells copies.
  public var isRepeatable: Bool { request.method.isIdempotent || request.headers.contains("Idempotency-Key") }

  /// Whether what came of it may be better the next time: the status 408, 429, 500, 502, 503 or 504, or the code
  /// `unknownHost`, `cannotConnect`, `connectionLost`, `truncatedBody` or `timedOut`.
  ///
  /// A name that has no address is among them, because the service of names fails for a moment as well. A peer that could not
  /// prove who it is will not prove it the next time, and an answer that cannot be trusted has been given.
  public var isTransientFailure: Bool {
    if let status { return RetryContext.statuses.contains(status.code) }
    return code.map(RetryContext.codes.contains) ?? false
  }

  private static let statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
  private static let codes: Set<HTTPError.Code> = [
    .unknownHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut,
  ]

  /// What no strategy is asked about: the chain is closed, or the time is over.
  var isFinal: Bool { code == .resetInProgress || code == .deadlineExceeded || code == .bodyNotReplayable }

  /// Whether the answer shows that the server is well: none of its errors, and no wish to be left alone.
  var showsHealthyServer: Bool {
    guard let status else { return false }
    return status.code < 500 && status.code != 408 && status.code != 429
  }
}
