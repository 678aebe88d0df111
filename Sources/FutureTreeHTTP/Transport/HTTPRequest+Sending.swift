/// The rules of sending that each transport applies.
extension HTTPRequest {
  /// Returns why the request must not be sent again after its connection was closed without a response, or `nil` if it may be
  /// (RFC 9110, section 9.2.2).
  ///
  /// - Parameter hasReadBody: Whether the body was opened.
  func reasonNotToRepeat(hasReadBody: Bool) -> HTTPError? {
    guard method.inUpperCase.isIdempotent else {
      return HTTPError(
        .connectionLost,
        "The connection was closed before a response arrived. \(method) requests are not repeated automatically. Load "
          + "again if the request may be sent twice.")
    }
    guard !hasReadBody || body.isReplayable else {
      return HTTPError(
        .bodyNotReplayable,
        "The connection was closed before a response arrived. The body can be sent only once. Use data or a file.")
    }
    return nil
  }

  /// Checks that the method allows the body, and that the content type of the body is valid.
  func checkBody() throws(HTTPError) {
    guard body.isEmpty || ![.get, .head].contains(method.inUpperCase) else {
      throw HTTPError(
        .forbiddenBody,
        "A \(method) request cannot have a body. Use another method, or send the data in the query.")
    }
    try body.checkContentType()
  }
}
