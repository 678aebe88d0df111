extension Future {
  /// Asks this future to cancel when the source of a token is cancelled, and returns this future.
  ///
  /// ```swift
  /// let download = client.get(url).cancel(when: session.token)
  /// ```
  ///
  /// The request is that of `cancel(_:reason:)` with the reason of the source: it asks as nobody, so with
  /// `doNotForwardIfOthersWaiting` every consumer of this future holds it back. If the source was cancelled before, this
  /// future is asked now. When this future has completed the token holds nothing of it any more, and when the source is
  /// gone this future holds an empty registration until it completes (law 21).
  ///
  /// - Parameters:
  ///   - token: when to ask.
  ///   - options: how far the request goes.
  /// - Returns: this future; nothing is derived from it.
  /// - Complexity: O(1).
  @discardableResult
  public func cancel(when token: CancellationToken, _ options: CancellationOptions = []) -> Future {
    let registration = token.register { reason in cancel(options, reason: reason) }
    if registration.entry != nil { observe { _ in registration.remove() } }
    return self
  }
}
