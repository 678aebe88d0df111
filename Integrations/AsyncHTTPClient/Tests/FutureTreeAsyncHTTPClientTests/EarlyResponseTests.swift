import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import FutureTreeTransportTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@Suite("AsyncHTTPClientLoader, responses before the end of the request", .timeLimit(.minutes(20)))
struct EarlyResponseTests {
  private let loader: AsyncHTTPClientLoader
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    loader = try secureLoader()
  }

  /// A request whose body has a first chunk, and continues only when the caller says so.
  private func upload(
    _ url: String, length: Int? = nil
  ) throws -> (HTTPRequest, AsyncStream<Data>.Continuation) {
    let (chunks, continuation) = AsyncStream<Data>.makeStream()
    continuation.yield(Data("first".utf8))
    var request = try HTTPRequest(.post, url)
    request.body = .asyncStream(length: length, isReplayable: false) { chunks }
    return (request, continuation)
  }

  enum Framing: CaseIterable {
    case length, chunked, encoded, encodedChunks, closed

    /// A response with the body `early`.
    func bytes(_ status: Int) -> [UInt8] {
      let head = "HTTP/1.1 \(status) Early\r\n"
      let gzip = [UInt8](Data(base64Encoded: "H4sIAAAAAAAC/0tNLMqpBABLzo6jBQAAAA==")!)
      let chunk = Array("\(String(gzip.count, radix: 16))\r\n".utf8) + gzip + Array("\r\n0\r\n\r\n".utf8)
      let encoding = head + "Content-Encoding: gzip\r\n"
      return switch self {
      case .length: Array((head + "Content-Length: 5\r\n\r\nearly").utf8)
      case .chunked: Array((head + "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n").utf8)
      case .encoded: Array((encoding + "Content-Length: \(gzip.count)\r\n\r\n").utf8) + gzip
      case .encodedChunks: Array((encoding + "Transfer-Encoding: chunked\r\n\r\n").utf8) + chunk
      case .closed: Array((head + "\r\nearly").utf8)
      }
    }
  }

  @Test("A whole response ends the load, whatever its framing", arguments: [413, 200], Framing.allCases)
  func framing(status: Int, framing: Framing) async throws {
    for closes in framing == .closed ? [true] : [true, false] {
      for length in [nil, 100] {
        let path = "/\(closes)/\(length ?? 0)"
        let end: LoopbackStep = closes ? .finishSending : .stall
        server.on(path, beginning: .headComplete, [.send(framing.bytes(status)), end, .stall])
        let (request, continuation) = try upload(server.url(path), length: length)

        let outcome = await loader.load(request).outcome

        // If the connection closes before the request was sent, the client discards a success.
        if !closes || status >= 300 || outcome.code != .connectionLost && outcome.code != .truncatedBody {
          #expect(try outcome.get().body == Data("early".utf8))
        }
        continuation.finish()
      }
    }
    try await loader.reset().value
    _ = try await server.waitUntilAllClosed().value
  }

  @Test("A whole response ends the load with HTTP/2, and other streams continue", arguments: [413, 200])
  func stream(status: Int) async throws {
    let server = try TestServer(.http1OrHTTP2, answersHeads: true) { exchange in
      exchange.head(.init(statusCode: exchange.path == "/early" ? status : 200))
      exchange.body(ByteBuffer(string: "early"))
      exchange.end()
    }
    for _ in 0..<3 {
      let (request, continuation) = try upload(server.url("/early", scheme: "https"))

      let response = try await loader.load(request).value

      #expect(response.status.code == status)
      #expect(try response.body == Data("early".utf8))
      continuation.finish()
      #expect(try await loader.load(HTTPRequest(server.url("/", scheme: "https"))).value.body == Data("early".utf8))
    }
    #expect(server.record.connections == 1)
  }

  @Test("A response is read while its request is sent", arguments: [TestServer.Security.none, .http1OrHTTP2])
  func bothWays(security: TestServer.Security) async throws {
    let server = try TestServer(security, answersHeads: true) { exchange in
      exchange.head()
      exchange.body(ByteBuffer(string: "a"))
      exchange.whole.whenSuccess { _ in
        exchange.body(ByteBuffer(string: "b"))
        exchange.end()
      }
    }
    var (request, continuation) = try upload(server.url("/", scheme: security == .none ? "http" : "https"))
    request.delivery = .stream()

    let response = try await loader.load(request).value
    var reader = response.bodyStream.makeAsyncIterator()
    #expect(try await reader.next() == Data("a".utf8))
    continuation.yield(Data("second".utf8))
    continuation.finish()

    #expect(try await reader.next() == Data("b".utf8))
    #expect(try await reader.next() == nil)
  }

  @Test("A body that the server does not read is answered", arguments: [413, 200], [true, false])
  func unread(status: Int, isInMemory: Bool) async throws {
    server.on("/up", beginning: .headComplete, [.stopReading, .send(Framing.chunked.bytes(status)), .stall])
    // More than the buffers of the sockets hold.
    let bytes = Data(count: 32 << 20)
    var request = try HTTPRequest(.put, server.url("/up"))
    request.body =
      isInMemory
      ? .data(bytes, contentType: "text/plain")
      : .stream(length: bytes.count) { HTTPBodyReader(InputStream(data: bytes)) }

    #expect(try await loader.load(request).value.body == Data("early".utf8))

    try await loader.reset().value
  }

  @Test("A source that does not end delays no failure")
  func blockedSourceOfFailure() async throws {
    server.on("/up", beginning: .headComplete, .reset)
    let gate = Promise<Void>()
    var request = try HTTPRequest(.put, server.url("/up"))
    request.body = .asyncStream(isReplayable: false) {
      AsyncStream<Data> {
        _ = await gate.future.shielded().outcome  // An iterator that cannot be cancelled.
        return nil
      }
    }

    let outcome = await loader.load(request).outcome

    #expect(outcome.code == .connectionLost)
    gate.succeed()
    try await loader.reset().value
  }

  @Test("A blocked event loop of others delays no failure")
  func blockedLoop() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let loops = Array(group.makeIterator())
    let blocked = DispatchSemaphore(value: 0)
    loops[1].execute { blocked.wait() }
    let loader = AsyncHTTPClientLoader(.init(timeout: nil), on: group)
    let down = try RefusingPort()
    let request = try HTTPRequest(down.url())

    // A load that begins on an event loop belongs to it.
    let outcome = try await loops[0].submit { loader.load(request) }.get().outcome

    #expect(outcome.code == .cannotConnect)
    withExtendedLifetime(down) {}
    blocked.signal()
    try await loader.shutdown().value
    try await group.shutdownGracefully()
  }

  @Test("A source that does not end delays neither its response nor a reset")
  func blockedSource() async throws {
    server.on("/up", beginning: .headComplete, [.send(Framing.length.bytes(413)), .stall])
    let (blocked, unblocked) = (DispatchSemaphore(value: 0), Promise<Void>())
    defer { blocked.signal() }
    var request = try HTTPRequest(.put, server.url("/up"))
    request.body = .asyncStream(isReplayable: false) {
      AsyncStream<Data> {
        await withCheckedContinuation { continuation in
          // An iterator that cannot be cancelled.
          DispatchQueue.global().async {
            blocked.wait()
            unblocked.succeed()
            continuation.resume()
          }
        }
        return nil
      }
    }

    #expect(try await loader.load(request).value.status.code == 413)

    try await loader.reset().value
    #expect(!unblocked.future.isCompleted)
  }
}

/// A loader that trusts the certificate of the tests.
func secureLoader() throws -> AsyncHTTPClientLoader {
  var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
  var tls = TLSConfiguration.makeClientConfiguration()
  tls.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(testCertificate.utf8), format: .pem)])
  configuration.client.tlsConfiguration = tls
  return AsyncHTTPClientLoader(configuration)
}
