import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on the wire: its exchange, its task, and its body.
final class Transfer: Sendable {
  private struct Guarded {
    /// Whether the platform asked for credentials and was refused. The response that the platform stopped then is the
    /// outcome (a 401).
    var hasRefusedChallenge = false
    var hasOpenedBody = false
    /// A head that can be the answer of a proxy: see `headArrived`.
    var heldHead: HTTPURLResponse?
    /// Whether each further head is one of the server.
    var isConnected: Bool
  }

  let exchange: HTTPExchange
  let queues: SessionQueues
  /// The task, until it is cancelled.
  let task = Locked<URLSessionTask?>(nil)
  private let proxy: EnvironmentProxy?
  private let guarded: Locked<Guarded>
  private let bodyInterruption = BodyInterruption()

  init(_ exchange: HTTPExchange, _ queues: SessionQueues, _ proxy: EnvironmentProxy? = nil) {
    self.exchange = exchange
    self.queues = queues
    self.proxy = proxy
    guarded = Locked(Guarded(isConnected: proxy?.opensTunnel != true))
  }

  private var request: HTTPRequest { exchange.request }

  /// Creates and starts the task, unless the transfer was cancelled before. Called once, on the queue of commands.
  ///
  /// - Returns: Whether the task was created.
  func begin(_ makeTask: () -> URLSessionTask) -> Bool {
    guard exchange.isWanted else { return false }
    let task = makeTask()
    self.task.value = task
    task.resume()
    return true
  }

  func stop() {
    bodyInterruption.fire()  // The queue of commands can wait for the thread that reads the body.
    queues.commands.async { [self] in
      if let task = task.withLock({ $0.take() }) { task.cancel() }
    }
  }

  /// Calls a completion handler of the session, unless the task was cancelled before. On Linux, the process ends if the
  /// handler of a cancelled task is called.
  func reply(_ completionHandler: @escaping @Sendable () -> Void) {
    queues.commands.async { [self] in
      if task.value != nil { completionHandler() }
    }
  }
}

// MARK: - Events of the session

extension Transfer {
  /// Receives a head of the server, and skips the answers of a proxy to `CONNECT`.
  ///
  /// On Linux, such an answer is reported like a head of the server, unless a tunnel is reused. The next event shows whose it is:
  /// the answer of a proxy is followed by another head or by an error, and a head of the server by its body or its end.
  func headArrived(_ response: HTTPURLResponse) {
    let isOfServer = guarded.withLock { guarded in
      if let answer = guarded.heldHead, HTTPStatus(answer.statusCode).isSuccess { guarded.isConnected = true }
      guarded.heldHead = guarded.isConnected ? nil : response
      return guarded.isConnected
    }
    if isOfServer { receive(response) }
  }

  /// Receives the held head if it is one of the server.
  private func receiveHeldHead(if isOfServer: (HTTPURLResponse) -> Bool = { _ in true }) {
    let head = guarded.withLock { guarded in
      guarded.isConnected = true
      return guarded.heldHead.take()
    }
    if let head, isOfServer(head) { receive(head) }
  }

  private func receive(_ response: HTTPURLResponse, isReported: Bool = true) {
    let status = HTTPStatus(response.statusCode)
    exchange.receiveHead(status) { receiver throws(HTTPError) in
      let fields = PlatformFields.fields(of: response)
      if isReported { return try receiver.receiveHead(status, fields) }
      try receiver.receiveUnreportedHead(status, fields)
      return nil
    }
  }

  func dataArrived(_ data: Data) {
    if proxy != nil { receiveHeldHead() }
    let room = exchange.receive(data)
    #if canImport(Darwin)
      if let room { pause(until: room) }
    #else
      _ = room  // A stream whose reader is behind overflows.
    #endif
  }

  func challengeRefused() {
    receiveHeldHead()
    guarded.withLock { $0.hasRefusedChallenge = true }
  }

  #if canImport(Darwin)
    /// Registers that the configuration does not trust the server.
    func trustRefused() {
      let peer = request.url.map { "\($0.host):\($0.port)" } ?? "the server"
      exchange.fail(
        HTTPError(
          .insecureConnection,
          "The closure `serverTrust` of the loader rejected \(peer). Check the certificate and the pinned keys."))
    }
  #endif

  /// - Parameter task: The task. On Linux it has a response that was never reported, if the response is a redirect
  ///   without a target.
  func ended(_ error: (any Error)?, _ task: URLSessionTask?) {
    if error == nil {
      let response = task?.response as? HTTPURLResponse
      receiveHeldHead { $0 === response }
      if let response, !exchange.hasHead { receive(response, isReported: false) }
    } else if URLErrorTable.isOfBody(error) {
      receiveHeldHead()
    }
    let end = end(error)
    bodyInterruption.fire()  // An early response leaves the rest of the body unread.
    exchange.end(end)
  }

  private func end(_ error: (any Error)?) -> HTTPExchange.End {
    if error != nil, bodyInterruption.hasFailedRead { return .stopped }
    let end = URLErrorTable.end(error, request: request, proxy, hasHead: exchange.hasHead)
    if case .stopped = end, exchange.isWanted, exchange.hasHead, guarded.withLock({ $0.hasRefusedChallenge }) {
      return .completed
    }
    return end
  }

  /// Returns the body for the platform to send. The platform calls this again when it repeats a request, because the
  /// server closed a reused connection. A request that must not be sent twice fails instead (RFC 9110, section 9.2.2).
  func openBody() -> InputStream {
    let isRepeated = guarded.withLock { guarded in
      defer { guarded.hasOpenedBody = true }
      return guarded.hasOpenedBody
    }
    let fault = isRepeated ? request.reasonNotToRepeat(hasReadBody: true) : nil
    if let fault { exchange.fail(fault) }
    return BodyStream(request.body, length: exchange.bodyLength, refusal: fault, bodyInterruption) {
      [exchange, queues] error in
      queues.reports.addOperation { exchange.fail(error) }
    }
  }
}

#if canImport(Darwin)
  extension Transfer {
    /// Suspends the task until the reader of its stream has read. On Linux, a suspended task would begin its request again.
    func pause(until room: Future<Void>) {
      guard let task = task.value else { return }
      queues.commands.async { task.suspend() }
      room.observe { [queues] _ in queues.commands.async { task.resume() } }
    }
  }
#endif
