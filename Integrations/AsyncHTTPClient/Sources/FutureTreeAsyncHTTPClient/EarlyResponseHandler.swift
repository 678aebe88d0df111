import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression

/// Reports two ends of responses that the client does not report: the end of a response that is whole before its request was sent,
/// and the end of a cut response.
///
/// **Early responses.** The client does not report the end of such a response. It waits for the end of the request, which it may
/// have stopped sending. The handler therefore passes an empty part of the body, and no other part that the `Transfer` receives
/// is empty. The `Transfer` then cancels the request.
///
/// **Cut bodies.** When a connection closes, the client discards the parts that wait for the `Transfer`, and reports the error. The
/// handler therefore passes the mark `cut` and an end in place of the error. The client delivers the parts before them, at the pace
/// of the `Transfer`, and closes the connection. Their number is limited by the buffers of the client and of the socket. If the
/// request is still being sent, the error is passed on: the client would wait for the end of the request.
///
/// The handler passes the end itself only if the status is 300 or above: the client then closes the connection. With other
/// statuses, the client would wait for the end of the request, and with HTTP/2 it would trap when the connection closes.
///
/// The handler is the last one before that of the client, so it receives decoded bodies. It passes all parts to `TransferLink` as well.
final class EarlyResponseHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private let link: TransferLink
  /// Whether the head of the request was written, and its end was not.
  private var isSending = false
  /// The number of bytes of the request that the socket has not accepted. `nil` if the request has no declared length.
  private var unsent: Int?
  /// The number of the request on this connection.
  private var number = 0
  private var method = HTTPMethod.GET
  private var response: HTTPResponseHead?
  /// Whether the head of the response has arrived, and its end has not.
  private var isReceiving = false
  /// The end of a response whose request lacks only its end.
  private var end: NIOAny?
  /// Whether the client reads. An end that arrives when it does not means to the client that the connection was closed.
  private var isReading = false

  /// An empty part that differs from other empty parts: its bytes were read.
  static let cut: ByteBuffer = {
    var part = ByteBuffer(bytes: [0])
    part.moveReaderIndex(forwardBy: 1)
    return part
  }()

  private init(_ link: TransferLink) { self.link = link }

  /// Adds a handler to a new HTTP/1.1 connection, or to a new HTTP/2 stream.
  ///
  /// - Parameters:
  ///   - transfers: The requests of the client.
  ///   - decodes: Whether the client decodes bodies.
  static func add(
    to channel: any Channel, for transfers: Transfers, decodes: Bool, isHTTP2: Bool
  ) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      let previous =
        if decodes {
          try pipeline.context(handlerType: NIOHTTPResponseDecompressor.self)
        } else if isHTTP2 {
          try pipeline.context(handlerType: HTTP2FramePayloadToHTTP1ClientCodec.self)
        } else {
          try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self)
        }
      let handler = EarlyResponseHandler(TransferLink(transfers, isHTTP2: isHTTP2))
      try pipeline.addHandler(handler, position: .after(previous.handler))
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var (data, promise) = (data, promise)
    let part = unwrapOutboundIn(data)
    if let changed = link.writes(part) { data = wrapOutboundOut(changed) }
    switch part {
    case .head(let head):
      isSending = true
      number += 1
      (response, end) = (nil, nil)
      method = head.method
      unsent = head.headers.first(name: "Content-Length").flatMap { Int($0) }
    case .body(let part):
      guard unsent != nil else { break }
      let accepted = context.eventLoop.makePromise(of: Void.self)
      accepted.futureResult.assumeIsolated().whenSuccess { [self, number] in
        if number == self.number { unsent? -= part.readableBytes }
      }
      accepted.futureResult.cascade(to: promise)
      promise = accepted
    case .end: isSending = false
    }
    context.write(data, promise: promise)
    guard !isSending, end != nil else { return }
    // The client has not yet returned from writing.
    context.eventLoop.assumeIsolated().execute { [self] in if isReading { passEnd(context) } }
  }

  func read(context: ChannelHandlerContext) {
    isReading = true
    context.read()
    if !isSending { passEnd(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    context.fireChannelReadComplete()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    link.reads(part, on: context.channel)
    switch part {
    case .head(let head):
      response = head
      isReceiving = head.status.code >= 200 || head.status == .switchingProtocols
    case .body(let part): guard part.readableBytes > 0, isReceiving else { return }
    case .end:
      guard isReceiving else { return }
      isReceiving = false
      guard isSending else { break }
      end = data
      // The end of a request whose bytes were all written follows at once.
      if unsent != 0 { passEnd(context) }
      return
    }
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    link.end()
    passEnd(context)
    _ = passCut(context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // An encoded body that is missing is not truncated.
    if hasNoBody, error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData { return }
    passEnd(context)
    if ClientErrorTable.isOfClosedConnection(error), passCut(context) { return }
    context.fireErrorCaught(error)
  }

  /// Ends a response that is not whole, for the client.
  ///
  /// - Returns: Whether there was such a response.
  private func passCut(_ context: ChannelHandlerContext) -> Bool {
    guard isReceiving, !isSending else { return false }
    isReceiving = false
    // If an end arrives while the client reads, the client keeps the connection for another request.
    isReading = false
    context.fireChannelReadComplete()
    context.fireChannelRead(wrapInboundOut(.body(EarlyResponseHandler.cut)))
    context.fireChannelRead(wrapInboundOut(.end(nil)))
    return true
  }

  private func passEnd(_ context: ChannelHandlerContext) {
    guard let end = end.take() else { return }
    if isSending { context.fireChannelRead(wrapInboundOut(.body(ByteBuffer()))) }
    if !isSending || response?.status.code ?? 0 >= 300 { context.fireChannelRead(end) }
  }

  private var hasNoBody: Bool {
    response?.hasEmptyBody(for: method.rawValue) ?? false
  }
}

extension HTTPResponseHead {
  /// Returns whether the response to a request with this method has no body, whatever its fields say (RFC 9110, section 6.4.1), or
  /// declares an empty one.
  func hasEmptyBody(for method: String) -> Bool {
    method == "HEAD" || [204, 304].contains(status.code) || headers.first(name: "Content-Length") == "0"
  }
}
