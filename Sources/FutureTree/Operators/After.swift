extension Future where Value == Void {
  /// Returns a future that succeeds after a duration.
  ///
  /// ```swift
  /// Future.after(.seconds(1)).map { print("tick") }
  /// ```
  ///
  /// A cancellation request completes the future as `.cancelled` at once and cancels the timer.
  ///
  /// - Parameters:
  ///   - duration: The time to wait from now. If it is negative, the future fails with `InvalidArgument`.
  ///   - clock: The clock that measures the duration. Defaults to `.system`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  /// - Complexity: One timer of the clock.
  public static func after(
    _ duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    after(duration, as: .timer, clock: clock, fileID: fileID, line: line)
  }

  /// Performs `after(_:)` for a timer of the user, or for the pause of an operator.
  static func after(
    _ duration: Duration, as createdBy: Operator, clock: any FutureClock, fileID: String, line: UInt
  ) -> Future {
    if let error = InvalidArgument.negative(duration, in: "after(_:)", fileID: fileID, line: line) {
      return .failed(error)
    }
    return Promise<Void>(createdBy, fileID: fileID, line: line).succeed((), after: duration, clock: clock)
  }
}

extension Promise {
  /// Schedules a success with a value after a duration, and returns the future.
  @inlinable func succeed(_ value: Value, after duration: Duration, clock: any FutureClock) -> Future<Value> {
    // The timer retains the promise. If the clock is deallocated, the promise is dropped, so the future does not hang.
    source.cancels(clock.schedule(after: duration) { self.succeed(value) })
    return future
  }
}

extension Source {
  /// Installs a handler that cancels a timer and completes the promise when the source is asked to cancel.
  @usableFromInline func cancels(_ timer: FutureTimer) {
    if isPause { watchWaiter() }
    install(TimerHandler(timer, of: self))
  }
}

/// A handler that cancels a timer and completes the promise. It stores the timer directly: a closure would cost an allocation.
private final class TimerHandler: HandlerEntry, @unchecked Sendable {  // Because: see `HandlerEntry`.
  @exclusivity(unchecked) private var timer: FutureTimer?

  init(_ timer: FutureTimer, of source: Source) {
    self.timer = timer
    super.init(of: source, on: .immediate) { entry, source, request in
      let entry = unsafeDowncast(entry, to: TimerHandler.self)
      guard let timer = entry.timer.take(), let request else { return }
      timer.cancel()
      source.fulfill(Completion<Void>.cancelled, innerRole: .answer(to: request))
    }
  }
}
