import FutureTree

/// A handle for one execution of a request, which exists before the request is loaded.
///
/// ```swift
/// let task = api.task(for: request)
/// row.cancelButton = { task.cancel(reason: "the row was swiped away") }
/// task.future.observe { outcome in row.show(outcome) }
/// task.start()
/// ```
///
/// A request is a value and cannot be cancelled. A task can be cancelled. If a task is cancelled before it starts, it
/// completes as `.cancelled`, and `start()` does not call the loader. After the start, each cancellation request is
/// forwarded to the load, with its options and its reason. Loaders and layers never see the task. They receive a
/// request and return a future.
///
/// If a task is dropped before it starts, its future completes according to the law *A dropped promise*. A started task
/// can be dropped without any effect. A task can be used from any thread.
public final class HTTPTask: Sendable, Identifiable {
  /// The identity of an execution. Two executions of the same request have different identities.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    private let number: UInt64

    private static let last = Locked<UInt64>(0)

    fileprivate static func next() -> ID {
      ID(
        number: last.withLock { number in
          number += 1
          return number
        })
    }

    /// The number as text, such as `task 7`. Numbers increase within a process.
    public var description: String { "task \(number)" }
  }

  /// The identity of this execution, unique in this process.
  public let id = ID.next()

  /// The request.
  public let request: HTTPRequest

  /// The future of the response. It is the same future before and after the start. Cancelling it cancels the task.
  public let future: Future<HTTPResponse>

  private let promise: Promise<HTTPResponse>
  /// The loader of the request, or `nil` after the start.
  private let loader: Locked<(any HTTPLoader)?>
  private let latestProgress = Locked(HTTPProgress())

  /// - Parameter finish: Derives the future of the task from the future of the promise.
  init(
    _ request: HTTPRequest, over loader: any HTTPLoader, fileID: String, line: UInt,
    finish: (Future<HTTPResponse>) -> Future<HTTPResponse> = { $0 }
  ) {
    self.request = request
    self.loader = Locked(loader)
    promise = Promise(fileID: fileID, line: line)
    future = finish(promise.future.named("\(id) of \(request)"))
    promise.onRequestCancel { [loader = self.loader] asked in
      // Law 8 (no request is lost): while `start` calls the loader, the cancellation request is stored and delivered to
      // the load.
      let isStarting = loader.withLock { $0 == nil }
      return isStarting && !asked.options.contains(.doNotForwardRequest) ? .continue : .complete(.cancelled)
    }
  }
}

extension HTTPTask {
  /// Begins to load the request. Has no effect if the task has started or was cancelled.
  ///
  /// - Returns: `future`.
  @discardableResult
  public func start() -> Future<HTTPResponse> {
    let taken = loader.withLock { $0.take() }
    guard let taken else { return future }
    if let asked = future.cancelRequest {
      promise.completeCancelled(asked.reason)
      return future
    }
    let isSealed = promise.seal(onto: taken.load(reportingRequest))
    if isSealed, let asked = promise.cancelRequest, asked.options.contains(.doNotForwardRequest) {
      // The request came too late for the answer of the handler, and too early for the load: Law 4 (this future only).
      promise.future.cancel([.doNotForwardRequest, .forceImmediately], reason: asked.reason)
    }
    return future
  }

  /// Asks the task to cancel, as `Future.cancel` does. While the body of the response arrives as a stream, its transfer is
  /// asked to cancel.
  ///
  /// - Returns: A receipt that reports what happened to the request.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    let receipt = future.cancel(options, reason: reason, fileID: fileID, line: line)
    guard case .tooLate(_) = receipt.effect, let transfer = future.outcomeIfCompleted?.pendingTransfer else {
      return receipt
    }
    return transfer.cancel(options, reason: reason, fileID: fileID, line: line)
  }

  /// Whether `start()` was called.
  public var isStarted: Bool { loader.withLock { $0 == nil } }

  /// The latest progress that the transport reported. It is empty before the start, and if the loader reports no
  /// progress.
  ///
  /// To receive each report, set the option `ProgressHandler` of the request.
  public var progress: HTTPProgress { latestProgress.value }

  /// The request, with a progress handler that stores the progress and then calls the request's own handler.
  private var reportingRequest: HTTPRequest {
    var request = request
    let handler = request[option: ProgressHandler.self]
    request[option: ProgressHandler.self] = { [latestProgress] progress in
      latestProgress.value = progress
      handler?(progress)
    }
    return request
  }
}

extension HTTPTask: CustomStringConvertible, CustomReflectable {
  /// The number of the task, the method, and the URL without the query.
  public var description: String { "\(id): \(request)" }

  public var customMirror: Mirror { Mirror(self, children: ["id": id, "request": request], displayStyle: .class) }
}

extension HTTPLoader {
  /// Creates a task for one execution of a request. Loading begins when `start()` is called.
  ///
  /// ```swift
  /// let task = api.task(for: request)
  /// task.start()
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to load.
  ///   - fileID: The file of the call. It appears in the error of a task that is dropped before its start.
  ///   - line: The line of the call.
  public func task(for request: HTTPRequest, fileID: String = #fileID, line: UInt = #line) -> HTTPTask {
    HTTPTask(request, over: self, fileID: fileID, line: line)
  }
}
