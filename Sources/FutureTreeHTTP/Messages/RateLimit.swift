import Foundation

/// How many requests a server still accepts, as it announces in a response.
///
/// ```swift
/// if let limit = response.rateLimit() { print("\(limit.remaining) requests for \(limit.reset)") }
/// ```
///
/// `Throttle` follows these limits if it is created with `followsServerLimits: true`.
public struct RateLimit: Sendable, Hashable {
  /// The number of requests that the server accepts until the reset.
  public let remaining: Int
  /// The time from the response until the server accepts more requests.
  public let reset: Duration

  /// Creates a limit, for tests. Negative values are treated as 0.
  public init(remaining: Int, reset: Duration) {
    self.remaining = max(0, remaining)
    self.reset = min(max(.zero, reset), .century)
  }
}

extension HTTPResponse {
  /// Returns the limit that the server announces.
  ///
  /// These forms are read, the first that is complete:
  ///
  /// - `RateLimit: "default";r=50;t=30` (draft-ietf-httpapi-ratelimit-headers). Of several policies, the one with the fewest
  ///   remaining requests counts.
  /// - `RateLimit: limit=100, remaining=50, reset=30`, the form of earlier drafts.
  /// - `RateLimit-Remaining` with `RateLimit-Reset`, also with `X-RateLimit-` or `X-Rate-Limit-` before the names, or with
  ///   `Reset-After` instead of `Reset`. A reset of 1,000,000,000 or more is a number of seconds since 1970, or of milliseconds if
  ///   it has more than eleven digits. It is compared with the `Date` of the response.
  ///
  /// - Parameter now: The local clock, for a response without a `Date`.
  /// - Returns: `nil` if the response has no such field, or only malformed ones.
  public func rateLimit(now: WallClock = .system) -> RateLimit? {
    let elements = headers.elements(of: "RateLimit")
    let policies = elements.compactMap { RateLimit(policy: FieldParameters($0).parameters) }
    let tightest = policies.min { ($0.remaining, $1.reset) < ($1.remaining, $0.reset) }
    return tightest ?? RateLimit(list: elements) ?? separateRateLimit(now)
  }

  private func separateRateLimit(_ now: WallClock) -> RateLimit? {
    func field(_ name: String) -> Double? {
      headers.elements(of: name).first.flatMap { FieldSyntax.seconds(FieldParameters($0).value) }
    }
    for prefix in ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"] {
      guard let remaining = field(prefix + "Remaining") else { continue }
      if let reset = field(prefix + "Reset-After") { return RateLimit(remaining, reset) }
      guard let reset = field(prefix + "Reset") else { continue }
      guard reset >= 1e9 else { return RateLimit(remaining, reset) }
      let here = now.now
      let there = headers["Date"].flatMap { HTTPDate($0, now: here) }.map { Double($0.secondsSince1970) }
      return RateLimit(remaining, (reset >= 1e11 ? reset / 1000 : reset) - (there ?? here.timeIntervalSince1970))
    }
    return nil
  }
}

extension RateLimit {
  fileprivate init(_ remaining: Double, _ seconds: Double) {
    self.init(remaining: Int(min(remaining, 1e9)), reset: .seconds(min(max(0, seconds), 1e9)))
  }

  /// Reads `r` and `t` of an item.
  fileprivate init?(policy parameters: [String: String]) {
    guard let remaining = parameters["r"].flatMap(FieldSyntax.seconds),
      let reset = parameters["t"].flatMap(FieldSyntax.seconds)
    else { return nil }
    self.init(remaining, reset)
  }

  /// Reads `remaining=50` and `reset=30` of a list.
  fileprivate init?(list: [String]) {
    func value(_ name: String) -> Double? {
      let element = list.first { $0.lowercased().hasPrefix(name + "=") }
      return element.flatMap { FieldSyntax.seconds(FieldSyntax.trimmed(String($0.dropFirst(name.count + 1)))) }
    }
    guard let remaining = value("remaining"), let reset = value("reset") else { return nil }
    self.init(remaining, reset)
  }
}
