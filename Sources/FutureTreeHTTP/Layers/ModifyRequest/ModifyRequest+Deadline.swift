import FutureTree

extension ModifyRequest {
  /// Returns a layer that sends the time until the deadline of a request, as the field `request-timeout`.
  ///
  /// ```swift
  /// let backend = Timeout() --> Retry() --> ModifyRequest.sendingDeadline() --> SystemLoader()
  /// ```
  ///
  /// The value is the number of milliseconds at the time of the load, and replaces a value of the request. Put the layer after
  /// `Retry` and `Throttle`: each attempt then sends the time that is left. A request without `RequestDeadline` is forwarded
  /// unchanged. The layer does not fail a load at its deadline: `Timeout` does.
  ///
  /// - Returns: A layer that fails with the code `deadlineExceeded` if the deadline has passed.
  public static func sendingDeadline() -> ModifyRequest {
    ModifyRequest { request in
      guard let deadline = request[option: RequestDeadline.self] else { return }
      guard !deadline.isExceeded() else {
        throw HTTPError(.deadlineExceeded, "\(request) was not sent. Its deadline has passed. Allow more time.")
      }
      try request.setHeader("request-timeout", deadline.requestTimeout)
    }
  }
}
