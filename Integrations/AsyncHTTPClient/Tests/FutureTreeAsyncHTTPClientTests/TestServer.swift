import FutureTree
import FutureTreeNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// A server for what `LoopbackServer` does not speak: TLS, HTTP/2, Unix domain sockets and compression.
///
/// It answers each request with a closure, on the event loop of its connection.
final class TestServer: Sendable {
  /// What a server speaks over TLS. Its certificate is for `localhost`.
  enum Security {
    case none
    case http1
    case http1OrHTTP2
  }

  /// A response in progress. With HTTP/2, `channel` is that of one stream.
  struct Exchange: Sendable {
    let path: String
    let headers: HTTPHeaders
    let channel: any Channel
    /// Completes with its trailers when the request has arrived.
    let whole: EventLoopFuture<HTTPHeaders?>

    func head(_ status: HTTPResponseStatus = .ok, _ headers: HTTPHeaders = [:]) {
      write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
    }

    /// - Returns: A future that completes when the bytes are written to the socket.
    @discardableResult
    func body(_ bytes: ByteBuffer) -> EventLoopFuture<Void> { write(.body(.byteBuffer(bytes))) }

    func end(_ trailers: HTTPHeaders? = nil) { write(.end(trailers)) }

    func respond(_ text: String, _ headers: HTTPHeaders = [:]) {
      head(.ok, headers)
      body(ByteBuffer(string: text))
      end()
    }

    @discardableResult
    private func write(_ part: HTTPServerResponsePart) -> EventLoopFuture<Void> { channel.writeAndFlush(part) }
  }

  /// Counts of the connections and, with HTTP/2, of the streams.
  struct Counts {
    var connections = 0
    var closedConnections = 0
    var requests = 0
    var closedStreams = 0
  }

  private let channel: any Channel
  private let counts = NIOLockedValueBox(Counts())

  /// Starts a server, on a free port of 127.0.0.1 unless there is a path for a Unix domain socket.
  ///
  /// - Parameter answersHeads: Whether the closure is called at the head of a request. It is called at its end otherwise.
  init(
    _ security: Security = .none, socketPath: String? = nil, compresses: Bool = false, answersHeads: Bool = false,
    respond: @escaping @Sendable (Exchange) -> Void
  ) throws {
    let context = try security.context()
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [counts] channel in
        counts.withLockedValue { $0.connections += 1 }
        channel.closeFuture.whenComplete { _ in counts.withLockedValue { $0.closedConnections += 1 } }
        let configure: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
          channel.eventLoop.makeCompletedFuture {
            if compresses { try channel.pipeline.syncOperations.addHandler(HTTPResponseCompressor()) }
            try channel.pipeline.syncOperations.addHandler(
              Responder(counts, answersHeads: answersHeads, respond))
          }
        }
        guard let context else {
          return channel.pipeline.configureHTTPServerPipeline(withErrorHandling: false).flatMap { configure(channel) }
        }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap { channel.configureCommonHTTPServerPipeline(configure) }
      }
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 1 << 16, high: 1 << 17))
    channel =
      if let socketPath {
        try bootstrap.bind(unixDomainSocketPath: socketPath).wait()
      } else {
        try bootstrap.bind(host: "127.0.0.1", port: 0).wait()
      }
  }

  deinit {
    channel.close(promise: nil)
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  var record: Counts { counts.withLockedValue { $0 } }

  func url(_ path: String, scheme: String = "http") -> String { "\(scheme)://localhost:\(port)\(path)" }
}

extension TestServer.Security {
  fileprivate func context() throws -> NIOSSLContext? {
    guard self != .none else { return nil }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(testCertificate.utf8), format: .pem))],
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(testKey.utf8), format: .pem)))
    configuration.applicationProtocols = self == .http1 ? ["http/1.1"] : ["h2", "http/1.1"]
    return try NIOSSLContext(configuration: configuration)
  }
}

private final class Responder: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart

  private let counts: NIOLockedValueBox<TestServer.Counts>
  private let answersHeads: Bool
  private let respond: @Sendable (TestServer.Exchange) -> Void
  private var exchange: TestServer.Exchange?
  private var whole: EventLoopPromise<HTTPHeaders?>?

  init(
    _ counts: NIOLockedValueBox<TestServer.Counts>, answersHeads: Bool,
    _ respond: @escaping @Sendable (TestServer.Exchange) -> Void
  ) {
    self.counts = counts
    self.answersHeads = answersHeads
    self.respond = respond
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      let promise = context.eventLoop.makePromise(of: HTTPHeaders?.self)
      whole = promise
      exchange = TestServer.Exchange(
        path: head.uri, headers: head.headers, channel: context.channel, whole: promise.futureResult)
      if answersHeads { answer() }
    case .body: break
    case .end(let trailers):
      whole.take()?.succeed(trailers)
      if !answersHeads { answer() }
    }
  }

  private func answer() {
    counts.withLockedValue { $0.requests += 1 }
    if let exchange { respond(exchange) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    counts.withLockedValue { $0.closedStreams += 1 }
    whole.take()?.fail(ChannelError.inputClosed)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// A certificate that the key below signed, for `localhost` and 127.0.0.1. It is only used in these tests.
let testCertificate = """
  -----BEGIN CERTIFICATE-----
  MIIBmjCCAUGgAwIBAgIUXXr4SFaVWpz+KDpAAT3WGbIcgFAwCgYIKoZIzj0EAwIw
  FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzIyMzU1MVoYDzIxMjYxMDMw
  MjIzNTUxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
  PQMBBwNCAAS8egx9syhkmXZ7dVEyZ3yAVfOOl/t9ay6FK1SJbTEwrRj+8AaoNW1p
  mKupAuNqST02A/n7tSoLbTtyJr1+rDZyo28wbTAdBgNVHQ4EFgQUNk3g3EXO51TM
  q5w/ED8F+VRExqcwHwYDVR0jBBgwFoAUNk3g3EXO51TMq5w/ED8F+VRExqcwDwYD
  VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
  zj0EAwIDRwAwRAIgIt0UYiPbbuVJrT7kJhftY3z56ZSUCL+JPTt8fwDNnrkCIBo0
  VXAKn/sl2ucdS8CZ+bTGYHUr0EwJ+IGRjyCXqvaB
  -----END CERTIFICATE-----
  """

private let testKey = """
  -----BEGIN PRIVATE KEY-----
  MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbJeQOLY/Ro+lJWN+
  R+ilFRbAMfOjrjbeYnOXFchZJqChRANCAAS8egx9syhkmXZ7dVEyZ3yAVfOOl/t9
  ay6FK1SJbTEwrRj+8AaoNW1pmKupAuNqST02A/n7tSoLbTtyJr1+rDZy
  -----END PRIVATE KEY-----
  """
