import FutureTree
import FutureTreeHTTP

/// The limit of the renewals of a token, so that a server that refuses them is not asked again for each load. Pure: reads no
/// clock.
///
/// # Invariants
/// 1. A renewal costs one token of the bucket. A renewal that succeeds without a rejected token before it, or that was not
///    sent, costs nothing in the end.
/// 2. No renewal begins before `resumption`, the end of the longest delay that a server asked for.
struct RenewalLimit {
  /// The longest delay that a server can ask for.
  static let longestPause = Duration.seconds(3600)

  private var bucket: TokenBucket?
  private var resumption: Duration?
  /// The error of the last failed renewal.
  private(set) var failure: HTTPError?

  /// - Parameter rate: The limit. `nil` disables it.
  init(_ rate: Throttle.Rate?) {
    bucket = rate.map { TokenBucket($0) }
  }

  /// Returns the error of a load that needs a renewal, or `nil` if the renewal may begin.
  mutating func error(at now: Duration) -> HTTPError? {
    bucket?.refill(at: now)
    let pause = resumption.map { max($0 - now, .zero) } ?? .zero
    let wait = max(pause, bucket?.wait ?? .zero)
    guard wait > .zero else { return nil }
    let reason =
      pause == wait
      ? "The server asked to wait after the last request"
      : "Too many requests for a token failed, or their tokens were rejected"
    return HTTPError(
      .refreshPaused, "No new token was requested. \(reason). Load again in \(wait.rounded).", underlying: failure)
  }

  mutating func began(at now: Duration) {
    bucket?.refill(at: now)
    bucket?.take()
  }

  /// Returns the cost of a renewal.
  mutating func putBack() {
    bucket?.putBack()
  }

  mutating func failed(_ failure: RenewalFailure, at now: Duration) {
    self.failure = failure.error
    if failure.wasNotSent { putBack() }
    guard let pause = failure.pause else { return }
    resumption = max(resumption ?? .zero, now + min(pause, RenewalLimit.longestPause))
  }

  /// Removes the effects of all renewals, because there is a credential that did not come from one, or none anymore.
  mutating func clear() {
    bucket?.fill()
    resumption = nil
    failure = nil
  }
}

/// A failed renewal, and its meaning for the session.
struct RenewalFailure: Error, CustomStringConvertible {
  /// The error of the loads that wait for the token.
  let error: HTTPError
  /// Whether a repeated request would be refused as well. The session ends.
  let isFinal: Bool
  /// The delay that the server asked for.
  let pause: Duration?
  /// Whether no request reached the server.
  let wasNotSent: Bool

  init(_ error: HTTPError, isFinal: Bool = false, pause: Duration? = nil, wasNotSent: Bool = false) {
    self.error = error
    self.isFinal = isFinal
    self.pause = pause
    self.wasNotSent = wasNotSent
  }

  /// - Parameter cause: The error that a loader or a closure failed with.
  init(_ error: HTTPError, isFinal: Bool = false, cause: any Error, _ date: WallClock) {
    let cause = cause as? HTTPError
    self.init(
      error, isFinal: isFinal, pause: cause?.response?.retryAfter(now: date),
      wasNotSent: cause?.code == .unknownHost || cause?.code == .cannotConnect)
  }

  var description: String { "\(error)" }
}
