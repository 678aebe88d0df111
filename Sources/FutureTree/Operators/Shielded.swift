extension Future {
  /// Returns a future with the same outcome that keeps requests to cancel from `self`.
  ///
  /// ```swift
  /// let saved = upload(draft).shielded()
  /// saved.cancel()  // We stop waiting; the upload goes on.
  /// ```
  ///
  /// Each request that reaches it is treated as `doNotForwardRequest`: it completes `.cancelled` at once, its interest in
  /// `self` is withdrawn, and nobody above is asked (law 4). A request that stops where others wait stops here as well if
  /// others want the shielded future.
  ///
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable public func shielded() -> Future {
    derive(BodyNode<Value>(.shielded))
  }
}
