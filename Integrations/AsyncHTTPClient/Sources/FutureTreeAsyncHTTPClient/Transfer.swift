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
    var sentCount = 0
    /// The last work on a file.
    var work: EventLoopFuture<Void>?
  }

  let exchange: HTTPExchange
  /// Keeps the client until the request has ended.
  private let client: Client
  /// The body of the request, unless it is in memory.
  private let body: RequestBody?
  private let socketPath: String?
  private let isForFile: Bool
  private let isForStream: Bool
  private let guarded = NIOLockedValueBox(Guarded())

  init(_ exchange: HTTPExchange, _ body: RequestBody?, _ client: Client, socketPath: String?) {
    self.exchange = exchange
    self.client = client
    self.body = body
    self.socketPath = socketPath
    let delivery = exchange.request[option: ResponseDelivery.self]
    isForFile = delivery.file != nil
    isForStream = delivery.isStream
  }

  /// Begins the request, unless it was cancelled before.
  func begin(_ execute: () -> HTTPClient.Task<Void>) {
    guard exchange.isWanted else { return exchange.end(.stopped) }
    let task = execute()
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
    _ = perform(on: task.eventLoop) { [exchange] in
      exchange.bodySent(count)
      return nil
    }
  }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    perform(on: task.eventLoop) { [exchange] in
      if let error = ClientErrorTable.encodedTwice(head, exchange) { exchange.fail(error) }
      exchange.receiveHead(HTTPStatus(Int(head.status.code)), Array(head.headers))
      return nil
    }
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    guard buffer.readableBytes > 0 else {
      // The mark of `EarlyResponseHandler`: the response is whole. The client would still wait for the end of the request.
      guarded.withLockedValue { $0.isAnswered = true }
      body?.stop()
      task.cancel()
      return task.eventLoop.makeSucceededVoidFuture()
    }
    return perform(on: task.eventLoop) { [self] in exchange.receive(data(buffer)) }
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {
    // The client has returned the connection to its pool, or has closed it.
    body?.stop()
    end(.completed, on: task.eventLoop)
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    let (isStopped, isAnswered, hasSentHead) = guarded.withLockedValue { ($0.isStopped, $0.isAnswered, $0.hasSentHead) }
    if !isStopped, !isAnswered {
      // The load fails at once. The reset of the loader waits for the rest.
      let table = ClientErrorTable(exchange, hasSentHead: hasSentHead, socketPath: socketPath)
      _ = perform(on: task.eventLoop) { [exchange] in
        exchange.fail(table.error(error))
        return nil
      }
    }
    // A request that failed ends when the source of its body is released. A whole response does not wait for that.
    let released = body?.stop()
    let closed = passAllLoops(task.eventLoop).flatMap { [self] in passAllLoops(task.eventLoop) }
    Future.all([closed.future(), isAnswered ? .succeeded : released ?? .succeeded]).observe { [self] _ in
      end(isAnswered ? .completed : .stopped, on: task.eventLoop)
    }
  }

  /// Returns a future that completes when each event loop has run what was enqueued before. The connection can belong to another
  /// loop, which is asked to close it before `didReceiveError`, or just afterward if it has received the request just before.
  /// Two passes therefore include the close.
  private func passAllLoops(_ loop: any EventLoop) -> EventLoopFuture<Void> {
    .andAllComplete(client.group.makeIterator().map { $0.submit {} }, on: loop)
  }

  private func end(_ end: HTTPExchange.End, on loop: any EventLoop) {
    _ = perform(on: loop) { [exchange] in
      exchange.end(end)
      return nil
    }
  }

  /// The bytes of a part. Those of a large part are copied only once, by the receiver. A stream keeps its bytes, so they are copied
  /// here: they would keep the whole buffer of the connection.
  private func data(_ buffer: ByteBuffer) -> Data {
    Data(buffer: buffer, byteTransferStrategy: isForStream || buffer.readableBytes < 4096 ? .copy : .noCopy)
  }

  /// Performs an event. The events of a load that writes to a file are performed in order on threads for files, because such work
  /// must not block an event loop.
  ///
  /// - Parameter work: Returns a future if the client must wait before it reads on.
  private func perform(
    on loop: any EventLoop, _ work: @escaping @Sendable () -> Future<Void>?
  ) -> EventLoopFuture<Void> {
    guard isForFile else {
      return work()?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture()
    }
    return guarded.withLockedValue { guarded in
      let previous = guarded.work ?? loop.makeSucceededVoidFuture()
      let done = previous.flatMap { NIOThreadPool.singleton.runIfActive(eventLoop: loop, work) }
      guarded.work = done.map { _ in }
      return done.flatMap { $0?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture() }
    }
  }
}
