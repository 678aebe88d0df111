extension Future {
  /// Returns a future that has the same outcome, and does not forward cancellation requests to `self`.
  ///
  /// ```swift
  /// let saved = upload(draft).shielded()
  /// saved.cancel()  // `saved` completes as `.cancelled`; the upload continues.
  /// ```
  ///
  /// Each request that reaches the returned future is treated as `doNotForwardRequest`. The future completes as `.cancelled`
  /// at once, its interest in `self` is withdrawn, and no future upstream receives the request. See
  /// <doc:Cancellation#This-future-only>. A request with `doNotForwardIfOthersWaiting` is withheld here if the returned
  /// future has other consumers.
  ///
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable public func shielded() -> Future {
    derive(BodyNode<Value>(.shielded))
  }
}
