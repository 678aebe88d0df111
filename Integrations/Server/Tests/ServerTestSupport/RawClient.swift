import FutureTree
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A connection that sends and receives text, byte by byte as the test says.
package final class RawClient: Sendable {
  package struct Address: Sendable {
    package let host: String
    package let port: Int

    package init(host: String = "127.0.0.1", port: Int) {
      self.host = host
      self.port = port
    }
  }

  private let channel: any Channel
  private let received: Received

  private init(_ channel: any Channel, _ received: Received) {
    self.channel = channel
    self.received = received
  }

  /// Connects, and never reads.
  package static func paused(to address: Address) async throws -> RawClient {
    try await connect(to: address, reads: false)
  }

  package static func connect(to address: Address, reads: Bool = true) async throws -> RawClient {
    let received = Received()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .channelOption(.autoRead, value: reads)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Receiver(received)) }
      }
      .connect(host: address.host, port: address.port).get()
    return RawClient(channel, received)
  }

  /// Connects and sends the head of a request without a body.
  package static func get(_ path: String, _ fields: String..., from address: Address) async throws -> RawClient {
    let client = try await connect(to: address)
    try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    return client
  }

  package func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

  /// Waits until a text has arrived, and returns everything until its end.
  package func receive(through text: String) async throws -> String { try await received.wait(for: text).value }

  /// Waits until the server closes the connection, and returns everything that arrived.
  package func receiveAll() async throws -> String { try await received.wait(for: nil).value }

  package func close() async throws { try await channel.close() }

  package func closeOutput() async throws { try await channel.close(mode: .output) }

  /// Closes the connection with a reset.
  package func reset() async throws {
    let provider = channel as! any SocketOptionProvider  // Every socket channel of NIO conforms.
    try await provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    try await close()
  }

  deinit { channel.close(promise: nil) }
}

package struct ConnectionEnded: Error {
  package let received: String
}

private final class Received: Sendable {
  private struct State {
    var text = ""
    var hasEnded = false
    var waiters: [(text: String?, promise: Promise<String>)] = []
  }

  private let state = NIOLockedValueBox(State())

  func wait(for text: String?) -> Future<String> {
    let promise = Promise<String>()
    state.withLockedValue { $0.waiters.append((text, promise)) }
    deliver()
    return promise.future
  }

  func append(_ text: String) {
    state.withLockedValue { $0.text += text }
    deliver()
  }

  func end() {
    state.withLockedValue { $0.hasEnded = true }
    deliver()
  }

  private func deliver() {
    let ready = state.withLockedValue { state in
      var ready: [(Promise<String>, Outcome<String>)] = []
      state.waiters.removeAll { waiter in
        if let text = waiter.text, let range = state.text.firstRange(of: text) {
          ready.append((waiter.promise, .success(String(state.text[..<range.upperBound]))))
          state.text.removeSubrange(..<range.upperBound)
          return true
        }
        guard state.hasEnded else { return false }
        let isExpected = waiter.text == nil
        ready.append(
          (waiter.promise, isExpected ? .success(state.text) : .failure(ConnectionEnded(received: state.text))))
        return true
      }
      return ready
    }
    for (promise, outcome) in ready { promise.complete(with: outcome) }
  }
}

private final class Receiver: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let received: Received

  init(_ received: Received) {
    self.received = received
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.append(String(buffer: unwrapInboundIn(data)))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { received.end() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) { received.end() }
}
