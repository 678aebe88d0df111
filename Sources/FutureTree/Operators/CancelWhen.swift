extension Future {
  /// Asks this future to cancel when the source of a token is cancelled, and returns this future.
  ///
  /// ```swift
  /// let download = client.get(url).cancel(when: session.token)
  /// ```
  ///
  /// The request is the same as `cancel(_:reason:)` with the reason of the source. It is not attributed to a consumer. With
  /// `doNotForwardIfOthersWaiting`, the request is therefore withheld if this future has any consumer. If the source was
  /// cancelled before, the request is made now.
  ///
  /// When this future completes, it removes its registration from the token. If the source is deallocated first, this
  /// future keeps an empty registration until it completes. See <doc:Cancellation#Bounded-memory>.
  ///
  /// - Parameters:
  ///   - token: The token whose cancellation triggers the request.
  ///   - options: The options of the request.
  /// - Returns: This future. The call derives no new future.
  /// - Complexity: O(1).
  @discardableResult
  public func cancel(when token: CancellationToken, _ options: CancellationOptions = []) -> Future {
    token.register(until: self) { reason in cancel(options, reason: reason) }
    return self
  }
}

extension CancellationToken {
  /// Registers a body until a future has completed.
  func register<Value>(until future: Future<Value>, _ body: @escaping @Sendable (CancellationReason) -> Void) {
    let registration = register(body)
    if registration.entry != nil { future.observe { _ in registration.remove() } }
  }
}
