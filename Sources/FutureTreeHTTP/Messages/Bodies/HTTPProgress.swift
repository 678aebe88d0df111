/// The progress of a request: the bytes sent, and the bytes received.
///
/// ```swift
/// request.progress = { progress in
///   bar.show(progress.received.fraction ?? 0)
/// }
/// ```
public struct HTTPProgress: Sendable, Hashable {
  /// The progress of one of the two bodies.
  public struct Part: Sendable, Hashable {
    /// The number of bytes transferred. It never decreases.
    public var completed: Int
    /// The total number of bytes, or `nil` if it is not known.
    public var total: Int?

    /// Creates the progress of a body.
    public init(completed: Int = 0, total: Int? = nil) {
      self.completed = completed
      self.total = total
    }

    /// The completed fraction from 0 to 1, or `nil` if the total is not known.
    public var fraction: Double? {
      total.map { $0 == 0 ? 1 : min(1, Double(completed) / Double($0)) }
    }
  }

  /// The body of the request: the bytes that the transport has taken. A body that is sent again is not counted twice.
  public var sent: Part
  /// The body of the response.
  public var received: Part

  /// Creates the progress of both bodies. Both default to zero bytes.
  public init(sent: Part = Part(), received: Part = Part()) {
    self.sent = sent
    self.received = received
  }
}

/// A request option that sets a closure to receive the progress.
///
/// The closure is called when the head of the response has arrived, and after each piece of a body. It runs on the queue
/// of the transport, one call at a time, and outside every lock. Keep it short: it delays the other requests of the
/// loader.
///
/// The closure is not called after the future has completed. If a call is running, the completion waits for it to
/// return. Forced cancellation is the exception: it can complete the future during a call.
public enum ProgressHandler: HTTPRequestOption {
  /// No closure.
  public static var defaultValue: (@Sendable (HTTPProgress) -> Void)? { nil }
}

extension HTTPRequest {
  /// The closure that receives the progress of this load.
  // The package uses the subscript: a property wraps the closure each time, in a heap block.
  public var progress: (@Sendable (HTTPProgress) -> Void)? {
    get { self[option: ProgressHandler.self] }
    set { self[option: ProgressHandler.self] = newValue }
  }
}
