import Foundation
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Retry: strategies") struct RetryStrategyTests {
  private func context(
    _ result: Result<HTTPResponse, any Error>, _ request: HTTPRequest = anyRequest(), attempt: Int = 1,
    random: RandomSource = .constant(1)
  ) -> RetryContext {
    RetryContext(request: request, attempt: attempt, result: result, random: random)
  }

  private func answer(_ code: Int) -> Result<HTTPResponse, any Error> {
    .success(HTTPResponse(to: anyRequest(), status: HTTPStatus(code)))
  }

  @Test("Only certain statuses and error codes are transient failures")
  func transientFailures() {
    let statuses = (100..<600).filter { context(answer($0)).isTransientFailure }
    expectEqual(statuses, [408, 429, 500, 502, 503, 504])

    func isRetried(_ code: HTTPError.Code) -> Bool { context(.failure(HTTPError(code, ""))).isTransientFailure }
    let retried: [HTTPError.Code] = [.unknownHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut]
    let others: [HTTPError.Code] = [
      .resetInProgress, .deadlineExceeded, .insecureConnection, .invalidURL, .invalidHeaderValue, .forbiddenHeader,
      .unreadableBody, .wrongBodyLength, .missingHost, .bodyNotReplayable, .transportFailed, .invalidResponse,
      .ambiguousBody, .bodyTooLarge, .unwritableBody, .encodedBody, .undecodableBody, .unacceptableStatus,
    ]
    #expect(retried.allSatisfy(isRetried) && !others.contains(where: isRetried))
    #expect(!context(.failure(Oops())).isTransientFailure)
    let refused = HTTPError(
      .unacceptableStatus, "", response: HTTPResponse(to: anyRequest(), status: .serviceUnavailable))
    #expect(context(.failure(refused)).isTransientFailure)
  }

  @Test("Idempotent methods and requests with an idempotency key are retryable")
  func repeated() throws {
    var request = anyRequest()
    request.method = .post
    #expect(!context(answer(503), request).isRetryable)
    try request.setHeader("idempotency-key", "7")
    #expect(context(answer(503), request).isRetryable && context(answer(503)).isRetryable)
  }

  @Test("Full jitter chooses from zero to a delay that doubles up to its limit")
  func exponential() {
    let strategy = RetryStrategy.exponential(attempts: 10, first: .seconds(1), limit: .seconds(5))
    func delays(_ random: RandomSource) -> [Duration?] {
      (1...10).map { delay(strategy, attempt: $0, random) }
    }

    let longest: [Duration?] = [1, 2, 4, 5, 5, 5, 5, 5, 5].map { .seconds($0) }
    let shortest = [Duration?](repeating: .zero, count: 9)
    expectEqual(delays(.constant(1)), longest + [nil])
    expectEqual(delays(.constant(0)), shortest + [nil])
    let random = RandomSource.seeded(7)
    #expect((0..<1000).allSatisfy { _ in (.zero ... .seconds(4)).contains(delay(strategy, attempt: 3, random)!) })
  }

  @Test("Extreme numbers never trap, and are clamped to 100 years")
  func extremes() {
    let times: [Duration] = [.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max), .seconds(Int64.min)]
    for first in times {
      for limit in times {
        for attempt in [1, 2, 100, 1_000_000, .max - 1] {
          let strategy = RetryStrategy.exponential(attempts: .max, first: first, limit: limit)
          let delay = delay(strategy, attempt: attempt, .constant(1))!
          #expect((.zero ... .seconds(100 * 365 * 86_400)).contains(delay))
        }
      }
    }
    #expect(delay(.immediately(attempts: 0), attempt: 1, .constant(1)) == nil)
    #expect(delay(.constant(.seconds(1), attempts: -1), attempt: 1, .constant(1)) == nil)
  }

  private func delay(_ strategy: RetryStrategy, attempt: Int, _ random: RandomSource) -> Duration? {
    strategy.delay(after: context(answer(503), attempt: attempt, random: random))
  }
}
