import NIOConcurrencyHelpers
import NIOCore

/// A channel handler that detects when a client closes its connection. It is tested with HTTP/1.1.
///
/// ```swift
/// let app = Application(
///   router: router,
///   server: .http1(configuration: .init(additionalChannelHandlers: [ClientDisconnectHandler()])))
/// ```
///
/// Without this line, the first pending future of each connection installs it. Then a client that leaves before that is not
/// detected, for example while a busy server has not begun to handle its request.
///
/// The end of a client's input counts as a disconnect, because TCP does not distinguish it from a closed connection. A
/// client that shuts down its output after the request therefore receives 503 from a pending handler.
///
/// A disconnect is detected when the server reads it. The server stops reading while about 10 parts of a request body, or of
/// pipelined requests, wait for the handler. A closed connection is not detected then, and a reset one not always. Read the
/// body first.
public final class ClientDisconnectHandler: ChannelInboundHandler, RemovableChannelHandler {
  public typealias InboundIn = NIOAny
  public typealias InboundOut = NIOAny

  // Only the event loop of the channel uses these.
  private var isClosed = false
  private var watches: [DisconnectWatch] = []

  /// Creates a handler for one channel.
  public init() {}

  /// Forwards the event, and detects the end of the input.
  public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { close() }
    context.fireUserInboundEventTriggered(event)
  }

  /// Forwards the event, and detects the end of the connection.
  public func channelInactive(context: ChannelHandlerContext) {
    close()
    context.fireChannelInactive()
  }

  /// Adds a watch, and removes those that have ended. Fires it at once if the client has left.
  fileprivate func add(_ watch: DisconnectWatch) {
    watches.removeAll { $0.hasEnded }
    if isClosed { watch.fire() } else { watches.append(watch) }
  }

  fileprivate func close() {
    isClosed = true
    for watch in watches { watch.fire() }
    watches = []
  }
}

@available(*, unavailable)
extension ClientDisconnectHandler: Sendable {}

/// A closure that is called when a client disconnects, unless the watch is ended before.
final class DisconnectWatch: Sendable {
  private let body: NIOLockedValueBox<(@Sendable () -> Void)?>

  /// Begins to watch the client of a channel. The closure can be called at once, on the event loop of the channel.
  init(_ channel: any Channel, _ body: @escaping @Sendable () -> Void) {
    self.body = NIOLockedValueBox(body)
    channel.eventLoop.execute {
      let pipeline = channel.pipeline.syncOperations
      do {
        try pipeline.handler(type: ClientDisconnectHandler.self).add(self)
      } catch {
        let handler = ClientDisconnectHandler()
        handler.add(self)
        try? pipeline.addHandler(handler, position: .first)  // Fails if the channel is closed.
        channel.closeFuture.assumeIsolated().whenComplete { _ in handler.close() }
      }
    }
  }

  var hasEnded: Bool { body.withLockedValue { $0 == nil } }

  /// Releases the closure without calling it.
  func end() { _ = take() }

  fileprivate func fire() { take()?() }

  private func take() -> (@Sendable () -> Void)? {
    body.withLockedValue { body in
      defer { body = nil }
      return body
    }
  }
}
