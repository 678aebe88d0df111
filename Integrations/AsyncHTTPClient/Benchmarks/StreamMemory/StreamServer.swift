import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A server in another process, which answers `/1024` with 1024 MiB as fast as the client reads.
enum StreamServer {
  /// Starts this program again as a server, and waits for its port.
  static func start() throws -> (process: Process, port: Int) {
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["serve"]
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    return (process, Int(line.trimmingCharacters(in: .whitespacesAndNewlines))!)
  }

  static func serve() async throws {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
          try channel.pipeline.syncOperations.addHandler(Sender())
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    print(channel.localAddress!.port!)
    fflush(nil)
    try await channel.closeFuture.get()
  }
}

private final class Sender: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let chunk = ByteBuffer(repeating: 0x78, count: 1 << 16)
  private var left = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    left = (Int(head.uri.dropFirst()) ?? 0) << 4
    let headers = HTTPHeaders([("Content-Length", "\(left << 16)")])
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
    send(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) { send(context) }

  private func send(_ context: ChannelHandlerContext) {
    while left > 0, context.channel.isWritable {
      left -= 1
      context.write(wrapOutboundOut(.body(.byteBuffer(chunk))), promise: nil)
      if left == 0 { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
      context.flush()
    }
  }
}
