/// One thing that happened to one future in a log.
public struct FutureEvent: Sendable, Hashable, Codable {
  /// Its place in the order of what happened: numbers rise, and some are skipped.
  public let number: Int
  /// When it was recorded, in nanoseconds since the log was made, by the clock of the log.
  ///
  /// What several threads did at the same moment may be recorded in another order than it happened; `number` tells that.
  public let nanoseconds: Int64
  /// Which future, counted from 1 in each log.
  public let future: Int
  /// The name that the future had by then, or what made it.
  public let name: String
  /// What happened.
  public let fact: Fact

  /// The time since the log was made.
  public var time: Duration { .nanoseconds(nanoseconds) }

  /// What happened to a future.
  public enum Fact: Sendable, Hashable {
    /// An operator made it, from one that is in the log.
    case created
    /// It was there when it came into the log: because the log was switched on, or because the two were linked.
    case joined
    /// It got the name that the event has.
    case named
    /// It waits for this future, which is in the same log.
    case linked(to: Int)
    /// A request took effect on it.
    case cancelRequested(CancelRequest)
    /// A request stopped at it, because so many others want its value.
    case withheld(CancelRequest, by: Int)
    /// It ended with a value, which no log shows.
    case succeeded
    /// It ended with an error: its description.
    case failed(String)
    /// It was given up, and why.
    case cancelled(CancellationReason)
    /// Nobody refers to it any more.
    case released
  }
}

extension FutureEvent.Fact: CustomStringConvertible {
  public var description: String {
    switch self {
    case .created: "created"
    case .joined: "joined the log"
    case .named: "named"
    case .linked(let input): "waits for \(input)"
    case .cancelRequested(let request): "asked\(request.text)"
    case .withheld(let request, let others): "withheld by \(others)\(request.text)"
    case .succeeded: "succeeded"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let reason): "cancelled: \(reason)"
    case .released: "released"
    }
  }
}

/// `{"kind": "linked", "to": 1}`, `{"kind": "withheld", "request": {…}, "by": 2}`, `{"kind": "failed", "error": "…"}`,
/// `{"kind": "cancelled", "reason": {…}}`, or a kind alone.
extension FutureEvent.Fact: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, to, request, by, error, reason
  }

  private enum Kind: String, Codable {
    case created, joined, named, linked, cancelRequested, withheld, succeeded, failed, cancelled, released
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .kind) {
    case .created: self = .created
    case .joined: self = .joined
    case .named: self = .named
    case .linked: self = .linked(to: try container.decode(Int.self, forKey: .to))
    case .cancelRequested: self = .cancelRequested(try container.decode(CancelRequest.self, forKey: .request))
    case .withheld:
      self = .withheld(
        try container.decode(CancelRequest.self, forKey: .request), by: try container.decode(Int.self, forKey: .by))
    case .succeeded: self = .succeeded
    case .failed: self = .failed(try container.decode(String.self, forKey: .error))
    case .cancelled: self = .cancelled(try container.decode(CancellationReason.self, forKey: .reason))
    case .released: self = .released
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    switch self {
    case .created, .joined, .named, .succeeded, .released: break
    case .linked(let input): try container.encode(input, forKey: .to)
    case .cancelRequested(let request): try container.encode(request, forKey: .request)
    case .withheld(let request, let others):
      try container.encode(request, forKey: .request)
      try container.encode(others, forKey: .by)
    case .failed(let error): try container.encode(error, forKey: .error)
    case .cancelled(let reason): try container.encode(reason, forKey: .reason)
    }
  }

  private var kind: Kind {
    switch self {
    case .created: .created
    case .joined: .joined
    case .named: .named
    case .linked: .linked
    case .cancelRequested: .cancelRequested
    case .withheld: .withheld
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case .released: .released
    }
  }
}
