// Conversions from completion handlers to futures, and back.

extension Future {
  /// A completion handler that reports a result.
  public typealias ResultHandler = @Sendable (Result<Value, any Error>) -> Void

  /// A completion handler that reports a value or an error.
  public typealias OptionalsHandler = @Sendable (Value?, (any Error)?) -> Void
}

// MARK: - Calls that cannot be cancelled

extension Future {
  /// Wraps a call that reports a result to a completion handler.
  ///
  /// ```swift
  /// let image = Future<Image>.wrapping { completion in decoder.decode(data, completionHandler: completion) }
  /// ```
  ///
  /// The first report decides the outcome, even if it comes before `start` returns. Later reports have no effect. A call
  /// that drops its handler without a report fails the future with `BrokenPromise`, which names the line of `wrapping`. The
  /// call cannot be cancelled, so a cancellation request is only stored.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - start: Makes the call. It is called once, now. If it throws, the future fails with the error. `CancellationError`
  ///     and `FutureCancelled`, thrown or reported, complete the future as `.cancelled`.
  /// - Returns: A future that the call completes, on the thread of its report.
  /// - Complexity: O(1).
  public static func wrapping(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping ResultHandler) throws -> Void
  ) -> Future {
    let promise = Promise<Value>(fileID: fileID, line: line)
    _ = promise.start(meansCancellation) { try start { promise.complete($0, meansCancellation) } }
    return promise.future
  }

  /// Wraps a call that reports a value or an error to a completion handler.
  ///
  /// ```swift
  /// let image = Future<Image>.wrappingOptionals { completion in cache.read(key, completionHandler: completion) }
  /// ```
  ///
  /// Behaves like `wrapping`, for a handler with two optional parameters. If the call reports both, the error takes
  /// precedence. If it reports neither, the future fails with `ReportedNothing`.
  public static func wrappingOptionals(
    fileID: String = #fileID, line: UInt = #line, _ start: (_ completion: @escaping OptionalsHandler) throws -> Void
  ) -> Future {
    wrapping(fileID: fileID, line: line) { completion in try start(optionals(completion)) }
  }
}

// MARK: - Calls that can be cancelled

extension Future {
  /// Wraps a call that can be cancelled and reports a result to a completion handler.
  ///
  /// ```swift
  /// let data = Future<Data>.wrapping { completion in
  ///   session.start(request, completionHandler: completion)  // Returns the task.
  /// } cancel: { task in
  ///   task.cancel()
  /// }
  /// ```
  ///
  /// When the future is asked to cancel, the call is cancelled once, and the future waits for its report:
  ///
  /// - A success that is reported after the request is kept.
  /// - An error for which `isCancellation` returns `true` completes the future as `.cancelled`.
  /// - A request that arrives before `start` has returned cancels the call as soon as `start` returns it.
  ///
  /// The first report decides the outcome, even if it comes before `start` returns. Later reports have no effect. A call
  /// that drops its handler without a report completes the future: as `.cancelled` if it was asked to cancel, otherwise with
  /// `BrokenPromise`, which names the line of `wrapping`.
  ///
  /// The call does not need to be `Sendable`; `DispatchWorkItem` is an example. `start` transfers the call, and only
  /// `cancel` receives it.
  ///
  /// The future retains the call until it completes. Some calls retain their own handler, such as a `DispatchWorkItem`. Such
  /// a call must report or be cancelled: if its owner drops it, the future stays pending.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - start: Makes the call and returns it. It is called once, now. An error that it throws fails the future.
  ///   - cancel: Cancels the call. It runs outside every lock, on the thread that makes the request.
  ///   - isCancellation: Returns whether an error, reported or thrown, means that the call was cancelled. By default, it
  ///     returns `true` for `CancellationError` and `FutureCancelled`.
  /// - Returns: A future that the call completes, on the thread of its report.
  /// - Complexity: O(1).
  public static func wrapping<Call>(
    fileID: String = #fileID, line: UInt = #line,
    _ start: (_ completion: @escaping ResultHandler) throws -> sending Call,
    cancel: @escaping @Sendable (Call) -> Void, isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future {
    let promise = Promise<Value>(fileID: fileID, line: line)
    let isCancellation = isCancellation ?? meansCancellation
    let call = promise.start(isCancellation) { Given(try start { promise.complete($0, isCancellation) }) }
    if let call {
      promise.onRequestCancel { _ in
        cancel(call.value)
        return .continue
      }
    }
    return promise.future
  }

  /// Wraps a call that can be cancelled and reports a value or an error to a completion handler.
  ///
  /// ```swift
  /// let data = Future<Data>.wrappingOptionals { completion in
  ///   loader.load(url, completionHandler: completion)
  /// } cancel: { load in
  ///   load.stop()
  /// } isCancellation: { error in
  ///   error as? LoadError == .stopped
  /// }
  /// ```
  ///
  /// Behaves like `wrapping`, for a handler with two optional parameters. If the call reports both, the error takes
  /// precedence. If it reports neither, the future fails with `ReportedNothing`.
  public static func wrappingOptionals<Call>(
    fileID: String = #fileID, line: UInt = #line,
    _ start: (_ completion: @escaping OptionalsHandler) throws -> sending Call,
    cancel: @escaping @Sendable (Call) -> Void, isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future {
    wrapping(
      fileID: fileID, line: line, { completion in try start(optionals(completion)) }, cancel: cancel,
      isCancellation: isCancellation)
  }

  /// Returns a handler of a value or an error that reports to a handler of a result.
  private static func optionals(_ completion: @escaping ResultHandler) -> OptionalsHandler {
    { value, error in
      if let error { return completion(.failure(error)) }
      completion(value.map { .success($0) } ?? .failure(ReportedNothing()))
    }
  }
}

/// A box for a call that `start` transferred.
private struct Given<Call>: @unchecked Sendable {  // Because: `start` transfers it, and one handler receives it, once.
  let value: Call

  init(_ value: sending Call) {
    self.value = value
  }
}

/// The default of `isCancellation`.
private let meansCancellation: @Sendable (any Error) -> Bool = { error in
  error is CancellationError || error is FutureCancelled
}

extension Promise {
  /// Makes the call. Returns `nil` if it threw.
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
  /// Creates the error, for tests of error handling.
  public init() {}

  public var description: String {
    "A call reported neither a value nor an error to its completion handler. "
      + "Check the documentation of the API for this case. Convert it to a value or an error before you wrap the call."
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
  /// The handler is always called exactly once, even if its branch completes early. See
  /// <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// The returned future is a consumer, not an observer, because the owner of the handler waits for the value. Requests with
  /// `doNotForwardIfOthersWaiting` stop at `self`. Use the returned future to withdraw that interest or to request
  /// cancellation.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `handler`. Defaults to `.immediate`.
  ///   - handler: Receives the value or the error. If the future was cancelled, the error is `FutureCancelled`, with the
  ///     reason.
  /// - Returns: A future that is a consumer of `self`, with the same outcome.
  /// - Complexity: O(1).
  @discardableResult
  public func report(on executor: FutureExecutor = .immediate, to handler: @escaping ResultHandler) -> Future {
    passingNode(.ensure, executor) { upstream in
      handler(Result { try upstream.outcome(as: Value.self).get() })
    }
  }

  /// Reports the result to a completion handler on the main actor.
  @discardableResult
  public func report(
    on _: MainExecutor, to handler: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Future {
    report(on: MainExecutor.executor) { result in MainExecutor.assume { handler(result) } }
  }
}
