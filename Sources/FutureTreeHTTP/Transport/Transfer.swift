import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on the wire: its state, its promise, its task and its deadline. It acts on what the state says.
final class Transfer: Sendable {
  private let request: HTTPRequest
  private let task: URLSessionDataTask
  private let promise = Promise<HTTPResponse>()
  private let state: Locked<TransferState>
  private let deadline = Deadline()

  init(of request: HTTPRequest, task: URLSessionDataTask, maximumBodySize: Int) {
    self.request = request
    self.task = task
    state = Locked(TransferState(method: request.method, maximumBodySize: maximumBodySize))
    promise.future.named(request.description)
  }

  var id: Int { task.taskIdentifier }

  var future: Future<HTTPResponse> { promise.future }

  func start(timeout: Duration?) -> Future<HTTPResponse> {
    promise.onRequestCancel { [weak self] _ in
      self?.act { $0.cancelAsked() }
      return .continue
    }
    if let timeout {
      deadline.set(after: timeout) { [weak self] in self?.act { $0.deadlinePassed() } }
    }
    task.resume()
    return promise.future
  }

  /// Tells the state what happened, and does what it answers, outside its lock.
  private func act(_ event: (inout TransferState) -> TransferState.Action) {
    switch state.withLock({ event(&$0) }) {
    case .none: break
    case .stop: stop()
    case .end(let ending, let stopsTransport):
      deadline.end()
      if stopsTransport { stop() }
      complete(ending)
    }
  }

  private func complete(_ ending: TransferState.Ending) {
    switch ending {
    case .response(let head, let body):
      promise.succeed(HTTPResponse(to: request, status: head.status, headers: head.headers, body: body))
    case .failure(let error): promise.fail(error)
    case .cancelled: promise.completeCancelled()
    }
  }

  /// Never where we are: the platform may hold a lock that what runs next needs.
  private func stop() {
    Transfer.stopQueue.async { [task] in task.cancel() }
  }

  private static let stopQueue = DispatchQueue(label: "FutureTree.URLSessionLoader.stop")
}

// MARK: - What the session reports

extension Transfer {
  func headArrived(_ response: HTTPURLResponse) {
    let head = TransferState.Head(status: HTTPStatus(response.statusCode), headers: HTTPHeaders(response))
    act { $0.headArrived(head) }
  }

  func dataArrived(_ data: Data) {
    act { $0.dataArrived(data) }
  }

  func challengeRefused() {
    state.withLock { $0.challengeRefused() }
  }

  func ended(_ error: (any Error)?) {
    act { state in state.transportEnded(URLErrorTable.end(error, request: request, hasHead: state.hasHead)) }
  }
}

extension HTTPHeaders {
  /// The header fields of an answer, in the order of their names, because the platform has no order. Fields that are not
  /// valid are left out: the platform has them parsed already, and nothing of ours depends on them.
  init(_ response: HTTPURLResponse) {
    self.init()
    let fields = response.allHeaderFields.compactMap { name, value in
      (name as? String).flatMap { name in (value as? String).map { (name, $0) } }
    }
    for (name, value) in fields.sorted(by: { $0.0 < $1.0 }) { try? add(name, value) }
  }
}
