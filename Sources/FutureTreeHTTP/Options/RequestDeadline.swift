import FutureTree

/// The instant by which a request must complete. The request carries it through every layer.
///
/// ```swift
/// request.deadline = .after(.seconds(10))
/// api.load(request)  // A retry or a queue that cannot meet it fails at once, with the code `deadlineExceeded`.
/// ```
///
/// `Timeout` sets a deadline, and fails loads that have not completed by then. A request that a chain loads in a `CancelScope` with
/// a deadline has the nearer of the two deadlines. Loads that a layer begins for several requests, such as that of a token, do not
/// have the deadline of the scope.
public enum RequestDeadline: HTTPRequestOption {
  /// No deadline.
  public static var defaultValue: FutureDeadline? { nil }
}

extension HTTPRequest {
  /// The instant by which this request must complete.
  public var deadline: FutureDeadline? {
    get { self[option: RequestDeadline.self] }
    set { self[option: RequestDeadline.self] = newValue }
  }
}

extension HTTPRequest {
  /// Returns the request with the nearer of its own and the given deadline.
  func limited(by deadline: FutureDeadline) -> HTTPRequest {
    var request = self
    request.deadline = .nearer(self.deadline, deadline)
    return request
  }
}
