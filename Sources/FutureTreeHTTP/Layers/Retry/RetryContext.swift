import Foundation
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

  /// Returns the delay before the next attempt, at least as long as the server asks. `nil` if there is none: the server asks for more
  /// than `longestRetryAfter`, the strategy gives up, the chain is being reset, the deadline has passed, or the body cannot be sent
  /// again.
  ///
  /// - Parameter strategy: The strategy of a request that has none of its own.
  package func delay(_ strategy: RetryStrategy, longestRetryAfter: Duration, now date: WallClock) -> Duration? {
    guard code != .resetInProgress, code != .deadlineExceeded, code != .bodyNotReplayable,
      let delay = (request.retry ?? strategy).delay(after: self)
    else { return nil }
    let floor = response?.retryAfter(now: date) ?? .zero
    return floor > longestRetryAfter ? nil : max(delay.clampedToMaximumTimerDuration, floor)
  }

  /// Returns the error of a load whose next attempt would begin after its deadline.
  ///
  /// - Parameters:
  ///   - attempt: The next attempt as the beginning of a sentence, such as `The upload would be continued`.
  ///   - hint: A sentence about this attempt, with a space after it.
  package func deadlineExceeded(
    _ attempt: String, in delay: Duration, _ deadline: FutureDeadline, _ hint: String = ""
  ) -> HTTPError {
    var underlying: (any Error)?
    if case .failure(let error) = result { underlying = error }
    return HTTPError(
      .deadlineExceeded,
      "\(attempt) in \(delay.rounded). The deadline is in \(deadline.remaining.rounded). \(hint)Allow more time.",
      response: response, underlying: underlying)
  }

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
  package var isRepeatable: Bool { method.isIdempotent || headers.contains("Idempotency-Key") }
}

extension HTTPResponse {
  /// Returns the delay that the server asks for before a retry, from `Retry-After` (RFC 9110, section 10.2.3).
  ///
  /// ```swift
  /// if let wait = response.retryAfter() { banner.show("Again in \(wait)") }
  /// ```
  ///
  /// Both forms are supported: a number of seconds, which can have a fraction, and a date. A date is compared with the `Date` of
  /// the same response, so that the result does not depend on the local clock. Without that field, it is compared with `now`. A
  /// date in the past means no delay. If there are several values, the longest delay applies, even if a platform joined them with
  /// commas. Values that are neither a number nor a date, including negative numbers, are ignored.
  ///
  /// - Parameter now: The local clock.
  /// - Returns: The delay, from zero to 100 years. `nil` if the response has no valid value.
  public func retryAfter(now: WallClock = .system) -> Duration? {
    let values = headers.values(for: "Retry-After").flatMap(RetryAfter.values)
    guard !values.isEmpty else { return nil }
    let here = now.now
    let there = headers["Date"].flatMap { HTTPDate($0, now: here) } ?? HTTPDate(here)
    return values.compactMap { value in
      RetryAfter.seconds(value) ?? HTTPDate(value, now: here).flatMap { RetryAfter.wait(until: $0, from: there) }
    }.max()
  }
}

enum RetryAfter {
  /// Splits a field value that a platform joined with commas. Most date formats contain one comma, after the day of the
  /// week.
  fileprivate static func values(_ joined: String) -> [String] {
    var values: [String] = []
    var elements = FieldSyntax.elements(of: joined)[...]
    while let element = elements.popFirst() {
      let rest = HTTPDateFields.isWeekday(element.utf8) ? elements.popFirst() : nil
      values.append(rest.map { "\(element), \($0)" } ?? element)
    }
    return values
  }

  fileprivate static func seconds(_ value: String) -> Duration? {
    // A larger number would not fit into a `Duration`.
    FieldSyntax.seconds(value).map { .seconds(min($0, 1e12)).clampedToMaximumTimerDuration }
  }

  fileprivate static func wait(until date: HTTPDate, from now: HTTPDate?) -> Duration? {
    now.map { .seconds(date.secondsSince1970 - $0.secondsSince1970).clampedToMaximumTimerDuration }
  }
}
