extension Future {
  /// Returns a future with the same outcome that delivers a value after a delay.
  ///
  /// ```swift
  /// let shown = result.delayed(by: .milliseconds(300))
  /// ```
  ///
  /// Failures and cancellations pass through at once. A cancellation request during the delay completes the future as
  /// `.cancelled` at once and cancels the timer, regardless of its options. A request before the delay is forwarded to
  /// `self`. After that, no delay begins, and a success becomes `.cancelled`.
  ///
  /// - Parameters:
  ///   - duration: The delay for a value. If it is negative, the future fails with `InvalidArgument` at once, and `self` is
  ///     asked to cancel with `doNotForwardIfOthersWaiting`.
  ///   - clock: The clock that measures the delay. Defaults to `.system`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1), and one timer of the clock.
  @inlinable public func delayed(
    by duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    if let error = InvalidArgument.negative(duration, in: "delayed(by:)", fileID: fileID, line: line) {
      return refused(error, because: "the delay was negative")
    }
    return flatMapNode(.delayed, .immediate) { value in
      Promise<Value>(.pause, fileID: fileID, line: line).succeed(value, after: duration, clock: clock)
    }
  }
}
