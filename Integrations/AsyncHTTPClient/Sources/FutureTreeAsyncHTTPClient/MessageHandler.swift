import FutureTreeHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Passes what the client does not pass between a connection and the `Transfer` of each request: the connection itself, the steps,
/// interim responses, and the fields after both bodies.
///
/// The client takes nothing of a caller along to a connection but the head of the request. So the head has a field with the number of the
/// transfer, and the handler removes it.
final class MessageHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The name of the field with the number of the transfer.
  static let field = "FutureTree-Transfer"

  private let transfers: Transfers
  private let isHTTP2: Bool
  private var transfer: Transfer?
  /// The number of requests before this one.
  private var earlierCount = -1

  init(_ transfers: Transfers, isHTTP2: Bool) {
    self.transfers = transfers
    self.isHTTP2 = isHTTP2
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var part = unwrapOutboundIn(data)
    switch part {
    case .head(var head):
      transfer = head.headers[MessageHandler.field].last.flatMap { Int($0) }.flatMap { transfers[$0] }
      earlierCount += 1
      head.headers.remove(name: MessageHandler.field)
      part = .head(head)
      transfer?.begins()
    case .body: break
    case .end:
      if let trailers = transfer?.trailersToSend { part = .end(trailers) }
      transfer?.requestEnds()
    }
    context.write(wrapOutboundOut(part), promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head) where head.status.code < 200 && head.status != .switchingProtocols:
      transfer?.receives(interim: head)
    case .head(let head): transfer?.receivesHead(over: connection(context.channel, head.version))
    case .body: break
    case .end(let trailers):
      transfer?.receives(trailers)
      transfer = nil
    }
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    transfer = nil
    context.fireChannelInactive()
  }

  /// Returns timings with the facts of the connection, and without times.
  private func connection(_ channel: any Channel, _ version: HTTPVersion) -> HTTPTimings {
    let address = channel.remoteAddress ?? channel.parent?.remoteAddress
    var timings = HTTPTimings()
    timings.protocolVersion = isHTTP2 ? "2" : "\(version.major).\(version.minor)"
    timings.peerAddress = address?.ipAddress
    timings.peerPort = address?.ipAddress == nil ? nil : address?.port.flatMap(UInt16.init(exactly:))
    timings.isConnectionReused = earlierCount > 0
    if isHTTP2 {
      let stream = try? channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
      timings.isConnectionReused = stream.map { $0 > 1 }  // The first one is 1 (RFC 9113, section 5.1.1).
    }
    return timings
  }
}

/// The requests of a client that have not ended, by their numbers.
final class Transfers: Sendable {
  private struct Live {
    weak var transfer: Transfer?
  }

  private let live = NIOLockedValueBox<(last: Int, transfers: [Int: Live])>((0, [:]))

  func makeNumber() -> Int {
    live.withLockedValue { live in
      live.last += 1
      return live.last
    }
  }

  func add(_ transfer: Transfer) {
    live.withLockedValue { $0.transfers[transfer.number] = Live(transfer: transfer) }
  }

  func remove(_ number: Int) { live.withLockedValue { _ = $0.transfers.removeValue(forKey: number) } }

  subscript(number: Int) -> Transfer? { live.withLockedValue { $0.transfers[number]?.transfer } }
}
