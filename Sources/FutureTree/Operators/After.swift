extension Future where Value == Void {
  /// Returns a future that succeeds when a time has passed.
  ///
  /// ```swift
  /// Future.after(.seconds(1)).map { print("tick") }
  /// ```
  ///
  /// A request to cancel completes it `.cancelled` at once and cancels the timer.
  ///
  /// - Parameters:
  ///   - duration: how long to wait from now. If it is negative, the future fails with `InvalidArgument`.
  ///   - clock: what measures it.
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  /// - Complexity: a timer of the clock.
  public static func after(
    _ duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    if let error = InvalidArgument.negative(duration, in: "after(_:)", fileID: fileID, line: line) {
      return .failed(error)
    }
    return Promise<Void>(.timer, fileID: fileID, line: line).succeed((), after: duration, clock: clock)
  }
}

extension Promise {
  /// Succeeds with a value after a duration. Returns the future.
  @inlinable func succeed(_ value: Value, after duration: Duration, clock: any FutureClock) -> Future<Value> {
    // The timer holds the promise, so that a clock that goes away breaks it instead of leaving the future hanging.
    source.cancels(clock.schedule(after: duration) { self.succeed(value) })
    return future
  }
}

extension Source {
  /// Installs a handler that cancels a timer and completes the promise.
  @usableFromInline func cancels(_ timer: FutureTimer) {
    install(TimerHandler(timer, of: self))
  }
}

/// A handler that cancels a timer and completes the promise. It holds the timer itself, because a closure would need another heap
/// block.
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
