extension Future {
  /// Returns a future with the same outcome that holds a value back for a while.
  ///
  /// ```swift
  /// let shown = result.delayed(by: .milliseconds(300))
  /// ```
  ///
  /// Failures and cancellations pass at once. A request to cancel that comes in the delay completes the future `.cancelled`
  /// at once; one that comes before is forwarded to `self`, and then there is no delay: a success becomes `.cancelled`.
  ///
  /// - Parameters:
  ///   - duration: how long a value is held back. If it is negative, the future fails with `InvalidArgument`.
  ///   - clock: what measures it.
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1), and a timer of the clock.
  @inlinable public func delayed(
    by duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    if let error = InvalidArgument.negative(duration, in: "delayed(by:)", fileID: fileID, line: line) {
      return flatMapNode(.delayed, .immediate) { _ in .failed(error) }
    }
    return flatMapNode(.delayed, .immediate) { value in
      Promise<Value>(.timer, fileID: fileID, line: line).succeed(value, after: duration, clock: clock)
    }
  }
}
