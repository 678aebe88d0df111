import NIOCore
import NIOHTTP1
import NIOPosix

/// A server on loopback with an event loop of its own. The path `/100` is answered with 100 bytes.
struct BenchmarkServer {
  private let channel: any Channel

  init() throws {
    channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
      .serverChannelOption(.backlog, value: 1024)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
          try channel.pipeline.syncOperations.addHandler(Responder())
        }
      }
      .bind(host: "127.0.0.1", port: 0).wait()
  }

  func url(ofSize size: Int) -> String { "http://127.0.0.1:\(channel.localAddress!.port!)/\(size)" }
}

private final class Responder: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private var body = ByteBuffer()

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      let size = Int(head.uri.dropFirst()) ?? 0
      if body.readableBytes != size { body = ByteBuffer(repeating: 0x78, count: size) }
    case .body: break
    case .end:
      let headers = HTTPHeaders([("Content-Length", "\(body.readableBytes)"), ("Content-Type", "text/plain")])
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}
