// From completion handlers to futures, and back.

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
  /// The first report counts, also one that comes before `start` returns; later ones change nothing. A call that drops its
  /// handler without a report fails the future with `BrokenPromise`, which names the line of `wrapping`. A request to cancel
  /// finds no handler and waits.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - start: Makes the call. It is called once, now. What it throws ends the future. Errors that are
  ///     `CancellationError` or `FutureCancelled`, thrown or reported, end it `.cancelled`.
  /// - Returns: A future that the call completes, on the thread where it reports.
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
  /// It is `wrapping` for a handler with two optional parameters. Where both are reported, the error counts; neither fails the
  /// future with `ReportedNothing`.
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
  /// When the future is asked to cancel, the call is cancelled, once, and the future waits for its report. A success that is
  /// reported after the request is kept, and an error for which `isCancellation` is true ends the future `.cancelled`. A
  /// request that comes before `start` has returned cancels the call as soon as `start` returns it. When the future has
  /// completed, the call is released.
  ///
  /// The first report counts, also one that comes before `start` returns; later ones change nothing. A call that drops its
  /// handler without a report ends the future: `.cancelled` if it was asked, otherwise with `BrokenPromise`, which names the
  /// line of `wrapping`.
  ///
  /// The call need not be `Sendable`, as `DispatchWorkItem` is not: `start` gives it away, and only `cancel` gets it.
  ///
  /// The future holds the call until it completes. A call that holds its own handler, as a `DispatchWorkItem` does, must
  /// therefore report or be cancelled: if its owner drops it, the future stays pending.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - start: Makes the call and returns it. It is called once, now. What it throws ends the future.
  ///   - cancel: Cancels the call. It runs outside every lock, on the thread that makes the request.
  ///   - isCancellation: Whether an error that is reported or thrown means that the call was cancelled. By default,
  ///     `CancellationError` and `FutureCancelled` do.
  /// - Returns: A future that the call completes, on the thread where it reports.
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
  /// It is `wrapping` for a handler with two optional parameters. Where both are reported, the error counts; neither fails the
  /// future with `ReportedNothing`.
  public static func wrappingOptionals<Call>(
    fileID: String = #fileID, line: UInt = #line,
    _ start: (_ completion: @escaping OptionalsHandler) throws -> sending Call,
    cancel: @escaping @Sendable (Call) -> Void, isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future {
    wrapping(
      fileID: fileID, line: line, { completion in try start(optionals(completion)) }, cancel: cancel,
      isCancellation: isCancellation)
  }

  /// The handler of a value or an error that reports to a handler of a result.
  private static func optionals(_ completion: @escaping ResultHandler) -> OptionalsHandler {
    { value, error in
      if let error { return completion(.failure(error)) }
      completion(value.map { .success($0) } ?? .failure(ReportedNothing()))
    }
  }
}

/// A call that was given away by whoever made it.
private struct Given<Call>: @unchecked Sendable {  // Because: `start` sends it, and one handler gets it, once.
  let value: Call

  init(_ value: sending Call) {
    self.value = value
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
    passingNode(.ensure, executor) { upstream in
      handler(Result { try upstream.outcome(as: Value.self).get() })
    }
  }

  /// The same with a handler on the main actor.
  @discardableResult
  public func report(
    on _: MainExecutor, to handler: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Future {
    report(on: MainExecutor.executor) { result in MainExecutor.assume { handler(result) } }
  }
}
