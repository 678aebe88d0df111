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
    /// Whether the response was complete before the request was sent.
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
  private let isForFile: Bool
  private let isForStream: Bool
  private let guarded = NIOLockedValueBox(Guarded())

  init(_ exchange: HTTPExchange, _ body: RequestBody?, _ client: Client) {
    self.exchange = exchange
    self.client = client
    self.body = body
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
    _ = body?.stop()
    task?.cancel()
  }
}

// MARK: - Events of the client

extension Transfer {
  func didSendRequestPart(task _: HTTPClient.Task<Void>, _ part: IOData) {
    let count = guarded.withLockedValue { guarded in
      guarded.sentCount += part.readableBytes
      return guarded.sentCount
    }
    exchange.bodySent(count)
  }

  func didSendRequest(task _: HTTPClient.Task<Void>) { body?.wasSent() }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    perform(on: task.eventLoop) { [self] in
      exchange.receiveHead(HTTPStatus(Int(head.status.code)), Array(head.headers))
      stopSending(task)
      return requestIsSent
    }
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    perform(on: task.eventLoop) { [self] in
      let room = exchange.receive(data(buffer))
      stopSending(task)
      return requestIsSent.map { sent in room.map { Future.all([$0, sent]).map { _ in } } ?? sent } ?? room
    }
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {
    // The client has returned the connection to its pool, or has closed it.
    guard isForFile || body != nil else { return exchange.end(.completed) }
    let rest = body?.stop() ?? .succeeded
    _ = perform(on: task.eventLoop) { [exchange] in
      rest.observe { _ in exchange.end(.completed) }
      return nil
    }
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    let (isStopped, isAnswered, work) = guarded.withLockedValue { ($0.isStopped, $0.isAnswered, $0.work) }
    // The connection can belong to another event loop, which was asked to close it before this call.
    let loops = client.group.makeIterator().map { $0.submit {} } + (work.map { [$0] } ?? [])
    let closed = EventLoopFuture.andAllComplete(loops, on: task.eventLoop).future()
    Future.all([closed, body?.stop() ?? .succeeded]).observe { [exchange] _ in
      guard !isAnswered else { return exchange.end(.completed) }
      exchange.end(isStopped ? .stopped : .failed(ClientErrorTable.error(error, exchange)))
    }
  }

  /// The bytes of a part. Those of a large part are copied only once, by the receiver. A stream keeps its bytes, so they are copied
  /// here: they would keep the whole buffer of the connection.
  private func data(_ buffer: ByteBuffer) -> Data {
    Data(buffer: buffer, byteTransferStrategy: isForStream || buffer.readableBytes < 4096 ? .copy : .noCopy)
  }

  /// A future that completes when the request is sent, if the response may be complete before. The client must not see the end of a
  /// response before: it would never use or close the connection again.
  private var requestIsSent: Future<Void>? {
    guard let sent = body?.isSent, !sent.isCompleted, exchange.remainingBodyLength ?? 0 == 0 else { return nil }
    return sent
  }

  /// Stops sending if the response is complete and the source of the request is not. The client would wait for it.
  private func stopSending(_ task: HTTPClient.Task<Void>) {
    guard let body, body.isSending, exchange.remainingBodyLength == 0 else { return }
    let isEarly = guarded.withLockedValue { guarded in
      guarded.isAnswered = exchange.bodyLength.map { guarded.sentCount < $0 } ?? true
      return guarded.isAnswered
    }
    guard isEarly else { return }
    _ = body.stop()
    task.cancel()
  }

  /// Performs work that can write to a file. Such work must not block an event loop.
  ///
  /// - Parameter work: Returns a future if the client must wait before it reads on.
  private func perform(
    on loop: any EventLoop, _ work: @escaping @Sendable () -> Future<Void>?
  ) -> EventLoopFuture<Void> {
    guard isForFile else {
      return work()?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture()
    }
    let done = NIOThreadPool.singleton.runIfActive(eventLoop: loop, work)
    let written = done.map { _ in }
    guarded.withLockedValue { $0.work = written }
    return done.flatMap { $0?.eventLoopFuture(on: loop) ?? loop.makeSucceededVoidFuture() }
  }
}
