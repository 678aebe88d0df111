/// One event of one future in a log.
public struct FutureEvent: Sendable, Hashable {
  /// The position of the event in the order of events. Numbers increase, with gaps.
  public let number: Int
  /// The time since the log was created, measured by the clock of the log when the event was recorded.
  ///
  /// Concurrent events of several threads can be recorded out of order. `number` has the correct order.
  public let time: Duration
  /// The number of the future, counted from 1 in each log.
  public let future: Int
  /// The name of the future at that time, or the operator that created it.
  public let name: String
  /// The kind and the details of the event.
  public let fact: Fact

  /// The time since the log was created, in nanoseconds. It is limited to about 292 years.
  public var nanoseconds: Int64 { time.wholeNanoseconds }

  /// The kinds of events of a future.
  public enum Fact: Sendable, Hashable {
    /// An operator created the future from a future in the log.
    case created
    /// An existing future joined the log, either when the log was switched on or when the tree of the future was
    /// linked to a logged one.
    case joined
    /// The future received the name of this event.
    case named
    /// The future waits for the future with this number, which is in the same log.
    case linked(to: Int)
    /// The work of the promise reports what it is doing: see `Promise.activityChanged()`.
    case activity(String)
    /// A cancellation request took effect on the future.
    case cancelRequested(CancelRequest)
    /// A request stopped at the future because other consumers have interest. The associated value `by` is their
    /// number. It is 0 if the request was scheduled: see `shared(linger:clock:)`.
    case withheld(CancelRequest, by: Int)
    /// The future succeeded. Logs do not show the value.
    case succeeded
    /// The future failed. The associated value is the description of the error.
    case failed(String)
    /// The future was cancelled, for this reason.
    case cancelled(CancellationReason)
    /// The future was deallocated.
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
    case .activity(let text): text
    case .cancelRequested(let request): "asked to cancel\(request.text)"
    case .withheld(let request, let others): "\(others > 0 ? "withheld by \(others)" : "lingering")\(request.text)"
    case .succeeded: "succeeded"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let reason): "cancelled: \(reason)"
    case .released: "released"
    }
  }
}

/// Encoded as `{"number": 1, "nanoseconds": 0, "future": 1, "name": "load", "fact": {"kind": …}}`.
extension FutureEvent: Codable {
  private enum CodingKeys: String, CodingKey {
    case number, nanoseconds, future, name, fact
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      number: try container.decode(Int.self, forKey: .number),
      time: .nanoseconds(try container.decode(Int64.self, forKey: .nanoseconds)),
      future: try container.decode(Int.self, forKey: .future), name: try container.decode(String.self, forKey: .name),
      fact: try container.decode(Fact.self, forKey: .fact))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(nanoseconds, forKey: .nanoseconds)
    try container.encode(future, forKey: .future)
    try container.encode(name, forKey: .name)
    try container.encode(fact, forKey: .fact)
  }
}

/// Encoded as `{"kind": "linked", "to": 1}`, `{"kind": "activity", "activity": "…"}`, `{"kind": "withheld", "request": {…}, "by": 2}`,
/// `{"kind": "failed", "error": "…"}`, `{"kind": "cancelled", "reason": {…}}`, or an object with only a kind.
extension FutureEvent.Fact: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, to, activity, request, by, error, reason
  }

  private enum Kind: String, Codable {
    case created, joined, named, linked, activity, cancelRequested, withheld, succeeded, failed, cancelled, released
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .kind) {
    case .created: self = .created
    case .joined: self = .joined
    case .named: self = .named
    case .linked: self = .linked(to: try container.decode(Int.self, forKey: .to))
    case .activity: self = .activity(try container.decode(String.self, forKey: .activity))
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
    case .activity(let text): try container.encode(text, forKey: .activity)
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
    case .activity: .activity
    case .cancelRequested: .cancelRequested
    case .withheld: .withheld
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case .released: .released
    }
  }
}
