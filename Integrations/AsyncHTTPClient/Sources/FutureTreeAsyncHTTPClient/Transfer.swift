import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOPosix

/// One request on the wire: the delegate of the client, which passes its events to an exchange.
///
/// The client calls it on one event loop, and waits for the future that each call returns before it makes the next.
/// `didReceiveError` is the exception: it can arrive at any time.
final class Transfer: HTTPClientResponseDelegate {
  typealias Response = Void

  private struct Guarded {
    var task: HTTPClient.Task<Void>?
    var isStopped = false
    /// Whether the head of the request was sent.
    var hasSentHead = false
    /// Whether the response was whole before the request was sent.
    var isAnswered = false
    /// Whether the connection was closed before the response was whole.
    var isCut = false
    var sentCount = 0
    /// The last work on a file.
    var work: EventLoopFuture<Void>?
    /// When the head of the request was written.
    var sent: Duration?
    var timings: HTTPTimings?
    var trailers: NIOHTTP1.HTTPHeaders?
  }

  let exchange: HTTPExchange
  /// Keeps the client until the request has ended.
  private let client: Client
  /// The body of the request, unless it is in memory.
  private let body: RequestBody?
  private let socketPath: String?
  private let loop: any EventLoop
  private let started = NIODeadline.now()
  private let isForFile: Bool
  private let isForStream: Bool
  private let guarded = NIOLockedValueBox(Guarded())

  /// - Parameter loop: The event loop of the events of the client.
  init(
    _ exchange: HTTPExchange, _ body: RequestBody?, _ client: Client, on loop: any EventLoop, socketPath: String?
  ) {
    self.exchange = exchange
    self.loop = loop
    self.client = client
    self.body = body
    self.socketPath = socketPath
    let delivery = exchange.request.delivery
    isForFile = delivery.file != nil
    isForStream = delivery.isStream
  }

  /// Begins the request, unless it was cancelled before.
  func begin(_ request: HTTPClient.Request) {
    guard exchange.isWanted else { return exchange.end(.stopped) }
    exchange.begin(.queued)
    var request = request
    request.headers.add(name: TransferLink.field, value: "\(client.transfers.add(self))")
    let task = client.execute(request, self, on: loop)
    let isStopped = guarded.withLockedValue { guarded in
      guarded.task = task
      return guarded.isStopped
    }
    if isStopped { task.cancel() }
  }

  /// Stops the request. The client then calls `didReceiveError`.
  func stop() {
    let task = guarded.withLockedValue { guarded in
      guarded.isStopped = true
      return guarded.task
    }
    body?.stop()
    task?.cancel()
  }
}

// MARK: - Events of the connection

/// `TransferLink` calls these on the event loop of the connection, before the client reports the same part.
extension Transfer {
  /// The fields after the body of the request, whose bytes were written.
  var trailersToSend: NIOHTTP1.HTTPHeaders? { body?.trailers }

  /// Registers that the head of the request is written.
  func begins() {
    guarded.withLockedValue { $0.sent = elapsed }
    exchange.begin(.sending)
    body?.consent?.beginWait()
  }

  /// Registers that the end of the request is written.
  func requestEnds() { exchange.begin(.waiting) }

  func receives(interim head: HTTPResponseHead) {
    if head.status == .continue { body?.consent?.arrived() }
    // The client reports later parts on this loop as well, so that they follow.
    guard loop.inEventLoop else { return loop.execute { [self] in _ = report(.interim(head), on: loop) } }
    _ = report(.interim(head), on: loop)
  }

  func receivesHead(over connection: HTTPTimings) {
    body?.consent?.endWait()
    guarded.withLockedValue { guarded in
      guarded.timings = connection
      guarded.timings?.sent = guarded.sent
      guarded.timings?.firstByte = elapsed
    }
  }

  func receives(_ trailers: NIOHTTP1.HTTPHeaders?) { guarded.withLockedValue { $0.trailers = trailers } }

  private var elapsed: Duration { .nanoseconds((NIODeadline.now() - started).nanoseconds) }
}

// MARK: - Events of the client

extension Transfer {
  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
    guarded.withLockedValue { $0.hasSentHead = true }
  }

  func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
    let count = guarded.withLockedValue { guarded in
      guarded.sentCount += part.readableBytes
      return guarded.sentCount
    }
    _ = report(.sent(count), on: task.eventLoop)
  }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    report(.head(head), on: task.eventLoop)
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    guard buffer.readableBytes > 0 else {
      // A mark of `EarlyResponseHandler`.
      guard buffer.readerIndex == 0 else {
        guarded.withLockedValue { $0.isCut = true }
        return task.eventLoop.makeSucceededVoidFuture()
      }
      // The response is whole. The client would still wait for the end of the request.
      guarded.withLockedValue { $0.isAnswered = true }
      body?.stop()
      task.cancel()
      return task.eventLoop.makeSucceededVoidFuture()
    }
    return report(.part(buffer), on: task.eventLoop)
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {
    // The client has returned the connection to its pool, or has closed it.
    body?.stop()
    let (isCut, isStopped) = guarded.withLockedValue { ($0.isCut, $0.isStopped) }
    if isCut, !isStopped {
      let table = ClientErrorTable(exchange, hasSentHead: true, socketPath: socketPath)
      _ = report(.failure(HTTPClientError.remoteConnectionClosed, table), on: task.eventLoop)
    }
    _ = report(.end(isCut ? .stopped : .completed), on: task.eventLoop)
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    let (isStopped, isAnswered, hasSentHead) = guarded.withLockedValue { ($0.isStopped, $0.isAnswered, $0.hasSentHead) }
    if !isStopped, !isAnswered {
      // The load fails at once. The reset of the loader waits for the rest.
      let table = ClientErrorTable(exchange, hasSentHead: hasSentHead, socketPath: socketPath)
      _ = report(.failure(error, table), on: task.eventLoop)
    }
    // A request that failed ends when the source of its body is released. A whole response does not wait for that.
    let released = body?.stop()
    let closed = passAllLoops(task.eventLoop).flatMap { [self] in passAllLoops(task.eventLoop) }
    Future.all([closed.future(), isAnswered ? .succeeded : released ?? .succeeded]).observe { [self] _ in
      _ = report(.end(isAnswered ? .completed : .stopped), on: task.eventLoop)
    }
  }

  /// Returns a future that completes when each event loop has run what was enqueued before. The connection can belong to
  /// another loop, which is asked to close it before `didReceiveError`, or just afterward if it has received the request just
  /// before. Two passes therefore include the close.
  private func passAllLoops(_ loop: any EventLoop) -> EventLoopFuture<Void> {
    .andAllComplete(client.group.makeIterator().map { $0.submit {} }, on: loop)
  }

  /// The bytes of a part. Those of a large part are copied only once, by the receiver. A stream keeps its bytes, so they are
  /// copied here: they would keep the whole buffer of the connection.
  private func data(_ buffer: ByteBuffer) -> Data {
    Data(buffer: buffer, byteTransferStrategy: isForStream || buffer.readableBytes < 4096 ? .copy : .noCopy)
  }

  /// Reports an event to the exchange. The events of a load that writes to a file are reported in order on threads for files,
  /// because such work must not block an event loop.
  ///
  /// - Returns: A future that completes when the client can read on.
  private func report(_ event: Event, on loop: any EventLoop) -> EventLoopFuture<Void> {
    guard isForFile else { return report(event)?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture() }
    return guarded.withLockedValue { guarded in
      let previous = guarded.work ?? loop.makeSucceededVoidFuture()
      let done = previous.flatMap { [self] in
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in report(event) }
      }
      guarded.work = done.map { _ in }
      return done.flatMap { $0?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture() }
    }
  }

  /// - Returns: A future if the reader of a stream is behind.
  private func report(_ event: Event) -> Future<Void>? {
    switch event {
    case .sent(let count): exchange.bodySent(count)
    case .interim(let head): exchange.receiveHead(HTTPStatus(Int(head.status.code)), head.headers)
    case .head(let head):
      if let error = ClientErrorTable.encodedTwice(head, exchange) { exchange.fail(error) }
      let timings = guarded.withLockedValue { $0.timings }
      exchange.receiveHead(HTTPStatus(Int(head.status.code)), head.headers, timings: timings)
    case .part(let buffer): return exchange.receive(data(buffer))
    case .failure(let error, let table): exchange.fail(table.error(error))
    case .end(let end):
      if case .completed = end, let trailers = guarded.withLockedValue({ $0.trailers.take() }) {
        exchange.receiveTrailers(trailers)
      }
      client.transfers.remove(self)
      exchange.end(end)
    }
    return nil
  }

  /// An event of the client for the exchange. A value, because a closure for each event would need an allocation.
  private enum Event: Sendable {
    case sent(Int)
    case interim(HTTPResponseHead)
    case head(HTTPResponseHead)
    case part(ByteBuffer)
    /// The table reads what the exchange has received, so it is used when the event is reported.
    case failure(any Error, ClientErrorTable)
    case end(HTTPExchange.End)
  }
}
