// From completion handlers to futures, and back.

extension Future {
  /// A completion handler that reports a result.
  public typealias ResultHandler = @Sendable (Result<Value, any Error>) -> Void

  /// A completion handler that reports a value or an error.
  public typealias OptionalsHandler = @Sendable (Value?, (any Error)?) -> Void
}

// MARK: - Calls that cannot be cancelled

extension Future {
  /// Makes a future of a call that reports to a completion handler.
  ///
  /// ```swift
  /// let image = Future<Image>.wrapping { completion in decoder.decode(data, completionHandler: completion) }
  /// ```
  ///
  /// The first report counts, also one that comes before `start` returns; later ones change nothing. A call that drops its
  /// handler without a report fails the future with `BrokenPromise`, which names the line of `wrapping`. A request to cancel
  /// finds no handler and waits.
  ///
  /// - Parameters:
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  ///   - start: makes the call; it is called once, now. What it throws ends the future. Errors that are
  ///     `CancellationError` or `FutureCancelled`, thrown or reported, end it `.cancelled`.
  /// - Returns: a future that the call completes, on the thread where it reports.
  /// - Complexity: O(1).
  public static func wrapping(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping ResultHandler) throws -> Void
  ) -> Future {
    let promise = Promise<Value>(fileID: fileID, line: line)
    _ = promise.start(meansCancellation) { try start { promise.complete($0, meansCancellation) } }
    return promise.future
  }

  /// The same for a handler that reports a value or an error.
  ///
  /// ```swift
  /// let image = Future<Image>.wrapping { completion in cache.read(key) { completion($0, $1) } }
  /// ```
  ///
  /// Where both are reported, the error counts; neither fails the future with `ReportedNothing`.
  @_disfavoredOverload
  public static func wrapping(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping OptionalsHandler) throws -> Void
  ) -> Future {
    wrapping(fileID: fileID, line: line) { completion in
      try start { value, error in completion(result(value, error)) }
    }
  }
}

// MARK: - Calls that can be cancelled

extension Future {
  /// Makes a future of a call that can be cancelled and reports to a completion handler.
  ///
  /// ```swift
  /// let data = Future<Data>.wrapping { completion in
  ///   session.start(request, completionHandler: completion)  // Returns the task.
  /// } cancel: { task in
  ///   task.cancel()
  /// }
  /// ```
  ///
  /// When the future is asked to cancel, the call is cancelled, once, and the future waits for what it reports: a success
  /// that raced the request stays a success, and an error for which `isCancellation` is true ends the future `.cancelled`.
  /// A request that comes before `start` has returned cancels the call when it is there. When the future has completed, the
  /// call is released.
  ///
  /// The first report counts, also one that comes before `start` returns; later ones change nothing. A call that drops its
  /// handler without a report ends the future: `.cancelled` if it was asked, otherwise with `BrokenPromise`, which names the
  /// line of `wrapping`.
  ///
  /// - Parameters:
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  ///   - start: makes the call and returns it; it is called once, now. What it throws ends the future.
  ///   - cancel: cancels the call. It runs outside every lock, where the request is made.
  ///   - isCancellation: whether an error that is reported or thrown means that the call was cancelled; where it is not
  ///     given, `CancellationError` and `FutureCancelled` do.
  /// - Returns: a future that the call completes, on the thread where it reports.
  /// - Complexity: O(1).
  public static func wrapping<Call: Sendable>(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping ResultHandler) throws -> Call,
    cancel: @escaping @Sendable (Call) -> Void, isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future {
    let promise = Promise<Value>(fileID: fileID, line: line)
    let isCancellation = isCancellation ?? meansCancellation
    let call = promise.start(isCancellation) { try start { promise.complete($0, isCancellation) } }
    if let call {
      promise.onRequestCancel { _ in
        cancel(call)
        return .continue
      }
    }
    return promise.future
  }

  /// The same for a handler that reports a value or an error.
  ///
  /// ```swift
  /// let data = Future<Data>.wrapping { completion in
  ///   loader.load(url, completionHandler: completion)
  /// } cancel: { load in
  ///   load.stop()
  /// } isCancellation: { error in
  ///   error as? LoadError == .stopped
  /// }
  /// ```
  @_disfavoredOverload
  public static func wrapping<Call: Sendable>(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping OptionalsHandler) throws -> Call,
    cancel: @escaping @Sendable (Call) -> Void, isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future {
    wrapping(
      fileID: fileID, line: line, { completion in try start { value, error in completion(result(value, error)) } },
      cancel: cancel, isCancellation: isCancellation)
  }

  private static func result(_ value: Value?, _ error: (any Error)?) -> Result<Value, any Error> {
    if let error { return .failure(error) }
    return value.map { .success($0) } ?? .failure(ReportedNothing())
  }
}

/// The test that is used where none is given.
private let meansCancellation: @Sendable (any Error) -> Bool = { error in
  error is CancellationError || error is FutureCancelled
}

extension Promise {
  /// Makes the call. Returns nil if that threw.
  fileprivate func start<Call>(_ isCancellation: (any Error) -> Bool, _ body: () throws -> Call) -> Call? {
    do {
      return try body()
    } catch {
      complete(.failure(error), isCancellation)
      return nil
    }
  }

  fileprivate func complete(_ result: Result<Value, any Error>, _ isCancellation: (any Error) -> Bool) {
    switch result {
    case .success(let value):
      succeed(value)
    case .failure(let error) where isCancellation(error):
      complete((error as? FutureCancelled).map { .cancelled($0.reason) } ?? .cancelled)
    case .failure(let error):
      fail(error)
    }
  }
}

/// The error of a call that reported neither a value nor an error.
public struct ReportedNothing: Error, Hashable, CustomStringConvertible {
  /// For tests of what handles it.
  public init() {}

  public var description: String {
    "A call reported neither a value nor an error to its completion handler. "
      + "Look at what it documents for this case, and make that a value or an error before it is wrapped."
  }
}

// MARK: - To completion handlers

extension Future {
  /// Reports the result to a completion handler.
  ///
  /// ```swift
  /// func user(_ id: Int, completion: @escaping @Sendable (Result<User, any Error>) -> Void) -> Future<User> {
  ///   api.user(id).report(to: completion)
  /// }
  /// ```
  ///
  /// The handler is called once, always: also when its branch ends early (law 11). Who has given a handler waits for the
  /// value, so this is a consumer, not an observer: a request that stops where others wait stops for it. The returned
  /// future is the way to withdraw that interest, or to ask.
  ///
  /// - Parameters:
  ///   - executor: where `handler` runs.
  ///   - handler: gets the value or the error; `FutureCancelled`, with the reason, if the future was cancelled.
  /// - Returns: a consumer of `self` with the same outcome.
  /// - Complexity: O(1).
  @discardableResult
  public func report(on executor: FutureExecutor = .immediate, to handler: @escaping ResultHandler) -> Future {
    passingNode(.ensure, executor) { outcome in handler(Result { try outcome.get() }) }
  }

  /// The same with a handler on the main actor.
  @discardableResult
  public func report(
    on _: MainExecutor, to handler: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Future {
    report(on: MainExecutor.executor) { result in MainExecutor.assume { handler(result) } }
  }
}
