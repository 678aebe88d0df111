import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

/// The body of one request in a file or a stream, or with many bytes in memory. The client reads it as fast as the connection
/// accepts it, so that each part counts as activity and as progress.
final class RequestBody: Sendable {
  private struct Guarded {
    var task: Task<Void, Never>?
    /// The end of the body for the client.
    var promise: EventLoopPromise<Void>?
    var isStopped = false
    /// The fields after the body, which was read.
    var trailers: NIOHTTP1.HTTPHeaders?
  }

  private let exchange: HTTPExchange
  /// The consent of the server. `nil` if the body does not wait for it.
  let consent: Consent?
  private let guarded = NIOLockedValueBox(Guarded())
  private let ended = Promise<Void>()

  /// Returns the body of a request, or `nil` if it is small and in memory, or empty. The client sends such a body in one part.
  static func make(_ exchange: HTTPExchange, _ clock: any FutureClock) -> RequestBody? {
    let request = exchange.request
    switch request.body.content {
    case .empty: return nil
    case .data(let data) where data.count <= 1 << 16 && !request.expectsContinue && exchange.trailers == nil: return nil
    case .data, .file, .stream: return RequestBody(exchange, clock)
    }
  }

  private init(_ exchange: HTTPExchange, _ clock: any FutureClock) {
    self.exchange = exchange
    consent = exchange.request.expectsContinue && exchange.bodyLength != 0 ? Consent(clock) : nil
  }

  /// The body for the client.
  var content: HTTPClient.Body {
    .stream(contentLength: exchange.contentLength.map(Int64.init)) { [self] writer in write(to: writer) }
  }

  private func write(to writer: HTTPClient.Body.StreamWriter) -> EventLoopFuture<Void> {
    // The client offers no event loop but that of a written part.
    writer.write(.byteBuffer(ByteBuffer())).flatMapWithEventLoop { [self] _, loop in
      let promise = loop.makePromise(of: Void.self)
      let task = Task {
        defer { ended.succeed() }
        do {
          try await consent?.future.value  // Ends when the task is cancelled.
          let trailers = exchange.trailers?.begin()
          for try await chunk in exchange.request.body.chunks() {
            trailers?.receive(chunk)
            try await send(chunk, to: writer)
          }
          if let trailers {
            let fields = try trailers.finish()
            guarded.withLockedValue { $0.trailers = NIOHTTP1.HTTPHeaders(fields.map { ($0.name, $0.value) }) }
          }
          promise.succeed()
        } catch {
          if let error = error as? HTTPError { exchange.fail(error) }
          promise.fail(error)
        }
      }
      let isStopped = guarded.withLockedValue { guarded in
        guarded.task = task
        guarded.promise = promise
        return guarded.isStopped
      }
      if isStopped { stop(task, promise) }
      return promise.futureResult
    }
  }

  /// Sends bytes, and waits until the connection accepts more.
  private func send(_ chunk: Data, to writer: HTTPClient.Body.StreamWriter) async throws {
    let sent = writer.write(.byteBuffer(ByteBuffer(data: chunk)))
    #if DEBUG
      // If the connection fails while it accepts no bytes, the client never completes this future. A debug build traps when
      // such a future is released.
      sent.whenComplete { [sent] _ in _ = sent }
    #endif
    try await sent.future().value  // Ends when the task is cancelled.
  }

  /// The fields after the body, which was read.
  var trailers: NIOHTTP1.HTTPHeaders? { guarded.withLockedValue { $0.trailers } }

  /// Stops reading the body.
  ///
  /// - Returns: A future that completes when the source of the body is released.
  @discardableResult
  func stop() -> Future<Void> {
    let (task, promise) = guarded.withLockedValue { guarded in
      guarded.isStopped = true
      return (guarded.task, guarded.promise)
    }
    consent?.endWait()
    guard let task, let promise else { return .succeeded }
    stop(task, promise)
    return ended.future
  }

  private func stop(_ task: Task<Void, Never>, _ promise: EventLoopPromise<Void>) {
    promise.fail(CancellationError())  // The client cancels the request.
    task.cancel()
  }
}
