/// How much of a request has been sent, and how much of its answer has been received.
///
/// ```swift
/// request[option: ProgressHandler.self] = { progress in
///   bar.show(progress.received.fraction ?? 0)
/// }
/// ```
public struct HTTPProgress: Sendable, Hashable {
  /// One of the two bodies.
  public struct Part: Sendable, Hashable {
    /// In bytes. It never becomes less.
    public var completed: Int
    /// In bytes; nil if the length is not known.
    public var total: Int?

    /// So many bytes of so many.
    public init(completed: Int = 0, total: Int? = nil) {
      self.completed = completed
      self.total = total
    }

    /// From 0 to 1; nil if the total is not known.
    public var fraction: Double? {
      total.map { $0 == 0 ? 1 : min(1, Double(completed) / Double($0)) }
    }
  }

  /// The body of the request: what the transport has taken. A body that has to be sent again does not count twice.
  public var sent: Part
  /// The body of the answer.
  public var received: Part

  /// How far both bodies have come; by default, nothing of either.
  public init(sent: Part = Part(), received: Part = Part()) {
    self.sent = sent
    self.received = received
  }
}

/// What is told how a request gets on, as an option of the request.
///
/// It is called when the head of the answer is there and after each piece of a body, on the queue of the transport, one
/// call at a time and under no lock: what it does holds up the other requests of the loader, so let it be brief. It is not
/// called after the future has ended: an ending waits until a call has returned (one by force, which nothing holds up, may
/// come while a call runs).
public enum ProgressHandler: HTTPRequestOption {
  /// Nobody.
  public static var defaultValue: (@Sendable (HTTPProgress) -> Void)? { nil }
}
