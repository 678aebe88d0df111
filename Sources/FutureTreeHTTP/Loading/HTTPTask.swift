import FutureTree

/// A handle on one execution of a request, which is there before the request is loaded.
///
/// ```swift
/// let task = api.task(for: request)
/// row.cancelButton = { task.cancel(reason: "the row was swiped away") }
/// task.future.observe { outcome in row.show(outcome) }
/// task.start()
/// ```
///
/// A request is a value, which nobody can cancel; an execution is what is cancelled. A task that was asked to cancel before
/// it was started completes `.cancelled` once, and its `start()` never touches the loader. One that has been started passes
/// every request on to what it loads, with options and reason. Loaders and layers never see the task: they see a request,
/// and return a future.
///
/// A task that is dropped before it was started completes its future as a dropped promise does (law 16). A started one may
/// be dropped: dropping a handle changes nothing. It can be used from any thread.
public final class HTTPTask: Sendable, Identifiable {
  /// Tells executions apart. The same request loaded twice has two.
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

    /// Such as `task 7`. Numbers count up in one process.
    public var description: String { "task \(number)" }
  }

  /// Tells this execution from all others of this process.
  public let id = ID.next()

  /// What is loaded.
  public let request: HTTPRequest

  /// What comes of it: the same future before and after the start. Requests to cancel it are requests to cancel the task.
  public let future: Future<HTTPResponse>

  private let promise: Promise<HTTPResponse>
  /// What will load the request; nil once it was started.
  private let loader: Locked<(any HTTPLoader)?>
  private let latestProgress = Locked(HTTPProgress())

  /// - Parameter finish: makes the future of the task from the one that the promise completes.
  init(
    _ request: HTTPRequest, over loader: any HTTPLoader, fileID: String, line: UInt,
    finish: (Future<HTTPResponse>) -> Future<HTTPResponse> = { $0 }
  ) {
    self.request = request
    self.loader = Locked(loader)
    promise = Promise(fileID: fileID, line: line)
    future = finish(promise.future.named("\(id) of \(request)"))
    promise.onRequestCancel { [loader = self.loader] asked in
      // While `start` is in the loader, the request waits for the load and is given to it then (law 8).
      let isStarting = loader.withLock { $0 == nil }
      return isStarting && !asked.options.contains(.doNotForwardRequest) ? .continue : .complete(.cancelled)
    }
  }
}

extension HTTPTask {
  /// Begins to load the request, if that has not been done, and if nobody has asked to cancel.
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
      // It came too late for the handler's answer and too early for the load (law 4).
      promise.future.cancel([.doNotForwardRequest, .forceImmediately], reason: asked.reason)
    }
    return future
  }

  /// Asks the task to stop, as `Future.cancel` does.
  ///
  /// - Returns: what the request met on its way.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    future.cancel(options, reason: reason, fileID: fileID, line: line)
  }

  /// Whether `start()` was called.
  public var isStarted: Bool { loader.withLock { $0 == nil } }

  /// The latest that the transport has reported: nothing before the start, and nothing where the loader reports no progress.
  ///
  /// To be told of each report, set the option `ProgressHandler` of the request.
  public var progress: HTTPProgress { latestProgress.value }

  /// The request, with a handler of ours before the one that it has.
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
  /// The number, and method and URL without the query.
  public var description: String { "\(id): \(request)" }

  public var customMirror: Mirror { Mirror(self, children: ["id": id, "request": request], displayStyle: .class) }
}

extension HTTPLoader {
  /// Makes a handle on one execution of a request. Nothing is loaded before its `start()`.
  ///
  /// ```swift
  /// let task = api.task(for: request)
  /// task.start()
  /// ```
  ///
  /// - Parameters:
  ///   - request: what to load.
  ///   - fileID: the file of the call, for the error of a task that is dropped before its start.
  ///   - line: the line of the call.
  public func task(for request: HTTPRequest, fileID: String = #fileID, line: UInt = #line) -> HTTPTask {
    HTTPTask(request, over: self, fileID: fileID, line: line)
  }
}
