import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeNIO
import FutureTreeTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@Suite("AsyncHTTPClientLoader, proxies, Unix sockets and encoded bodies") struct TransportFeatureTests {
  @Test("A proxy opens a tunnel for each origin, and one that refuses is an error")
  func proxy() async throws {
    let proxy = try LoopbackServer()
    proxy.onOthers { request in
      guard request.method == "CONNECT" else { return .respond(body: "from the server") }
      return request.target == "example.invalid:80" ? .send("HTTP/1.1 200 OK\r\n\r\n") : .status(407)
    }
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.client.proxy = .server(host: "127.0.0.1", port: proxy.port)
    let loader = AsyncHTTPClientLoader(configuration)

    let response = try await loader.load(HTTPRequest("http://example.invalid/a?b=c")).value
    let refused = await loader.load(try HTTPRequest("https://example.invalid/")).outcome

    #expect(try response.body == Data("from the server".utf8))
    #expect(proxy.requests.map(\.target) == ["example.invalid:80", "/a?b=c", "example.invalid:443"])
    #expect(refused.code == .cannotConnect)
  }

  @Test("A proxy that cannot be reached, or that closes the connection, is named in the error")
  func unusableProxy() async throws {
    let (proxy, down) = (try LoopbackServer(), try RefusingPort())
    proxy.onOthers(.close)
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.client.proxy = .server(host: "127.0.0.1", port: proxy.port)
    let request = try HTTPRequest("https://example.invalid/")

    let closed = await AsyncHTTPClientLoader(configuration).load(request).outcome
    configuration.client.proxy = .server(host: "127.0.0.1", port: down.port)
    let refused = await AsyncHTTPClientLoader(configuration).load(request).outcome
    configuration.client.proxy = .server(host: "proxy.invalid", port: 1)
    let unknown = await AsyncHTTPClientLoader(configuration).load(request).outcome

    #expect(closed.code == .cannotConnect)
    #expect(refused.code == .cannotConnect && refused.message?.contains("127.0.0.1:\(down.port)") == true)
    #expect(unknown.code == .unknownHost && unknown.message?.contains("proxy.invalid") == true)
  }

  @Test("A SOCKS proxy that cannot connect is an error of the connection")
  func socksProxy() async throws {
    let proxy = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(RefusingSOCKSProxy()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.client.proxy = .socksServer(host: "127.0.0.1", port: try #require(proxy.localAddress?.port))

    let outcome = await AsyncHTTPClientLoader(configuration).load(try HTTPRequest("http://127.0.0.1:9/")).outcome

    #expect(outcome.code == .cannotConnect)
    try await proxy.close()
  }

  @Test("A Unix domain socket receives the path and the host of the URL")
  func unixSocket() async throws {
    let path = "/tmp/ft-\(UInt64.random(in: 0 ... .max)).sock"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let server = try TestServer(socketPath: path) { $0.respond($0.path + " " + ($0.headers["Host"].first ?? "")) }
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.unixSocketPath = path
    let loader = AsyncHTTPClientLoader(configuration)

    let response = try await loader.load(HTTPRequest("http://service.internal/users?page=2")).value
    let secure = await loader.load(try HTTPRequest("https://service.internal/")).outcome
    configuration.unixSocketPath = path + ".missing"
    let missing = await AsyncHTTPClientLoader(configuration).load(try HTTPRequest("http://service.internal/")).outcome

    #expect(try response.body == Data("/users?page=2 service.internal".utf8))
    #expect(missing.code == .cannotConnect && missing.message?.contains(path + ".missing") == true)
    #expect(secure.code == .invalidURL)
    withExtendedLifetime(server) {}
  }

  @Test("An encoded body is decoded, and its response has neither encoding nor length")
  func decoded() async throws {
    let text = String(repeating: "abc", count: 10_000)
    let server = try TestServer(compresses: true) { $0.respond(text, ["Content-Type": "text/plain"]) }

    let response = try await AsyncHTTPClientLoader(.init(timeout: nil)).load(HTTPRequest(server.url("/"))).value

    #expect(try response.body == Data(text.utf8))
    #expect(response.headers["Content-Encoding"] == nil && response.headers["Content-Length"] == nil)
  }

  @Test("A body that decodes to too many bytes is an error, by its ratio and by its size", arguments: [true, false])
  func bomb(isRatio: Bool) async throws {
    let bytes = ByteBuffer(repeating: 0, count: 1 << 20)
    let server = try TestServer(compresses: true) { exchange in
      exchange.head()
      for _ in 0..<8 { exchange.body(bytes) }
      exchange.end()
    }
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil, maximumBodySize: isRatio ? .max : 1 << 20)
    configuration.maximumDecodingRatio = isRatio ? 10 : .max

    let outcome = await AsyncHTTPClientLoader(configuration).load(try HTTPRequest(server.url("/"))).outcome

    #expect(outcome.code == .bodyTooLarge)
  }

  @Test("An encoded body that is cut anywhere, or has data after its end, is an error")
  func damaged() async throws {
    let whole = [UInt8](Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==")!)
    let server = try LoopbackServer()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil))
    for (index, body) in ((1..<whole.count).map { Array(whole.prefix($0)) } + [whole + [1, 2]]).enumerated() {
      server.on("/\(index)", .respond(headers: [("Content-Encoding", "gzip")], body: body))

      let outcome = await loader.load(try HTTPRequest(server.url("/\(index)"))).outcome

      #expect([.truncatedBody, .encodedBody].contains(outcome.code ?? .invalidURL), "\(index): \(outcome)")
    }
  }

  @Test("A response without a body can name an encoding, and leaves its connection usable")
  func missingBody() async throws {
    let server = try LoopbackServer()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil))
    let fields = "Content-Encoding: gzip\r\n"
    server.on("/head", .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 100\r\n\r\n"))
    server.on("/304", .send("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n"))
    server.on("/0", .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"))
    server.on("/twice", .send("HTTP/1.1 200 OK\r\n\(fields)\(fields)Content-Length: 0\r\n\r\n"))

    for (path, method) in [("/head", HTTPMethod.head), ("/304", .get), ("/0", .get), ("/twice", .get)] {
      let response = try await loader.load(HTTPRequest(method, server.url(path))).value

      #expect(try response.body.isEmpty, "\(path)")
    }
    #expect(server.connectionCount == 1)
  }

  @Test(
    "A body with an encoding that the client does not decode is an error",
    arguments: [
      "gzip, gzip", "identity, gzip", "deflate, gzip", "gzip\r\nContent-Encoding: gzip", "aws-chunked, gzip", "br",
    ])
  func encodedTwice(encoding: String) async throws {
    let server = try LoopbackServer()
    server.on("/", .send("HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: 2\r\n\r\nxx"))

    let outcome = await AsyncHTTPClientLoader(.init(timeout: nil)).load(try HTTPRequest(server.url("/"))).outcome

    #expect(outcome.code == .encodedBody)
  }

  @Test("Without decoding, requests ask for identity, and an encoded body is an error")
  func identity() async throws {
    let server = try LoopbackServer()
    server.on("/gzip", .respond(headers: [("Content-Encoding", "gzip")], body: "x"))
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.acceptsEncodedBodies = false

    let outcome = await AsyncHTTPClientLoader(configuration).load(try HTTPRequest(server.url("/gzip"))).outcome

    #expect(outcome.code == .encodedBody)
    #expect(server.requests.first?.values(for: "accept-encoding") == ["identity"])
  }

  @Test("A connection whose reader is behind is paused, and the rest follows when it has read")
  func backPressure() async throws {
    let chunk = ByteBuffer(repeating: 0x78, count: 1 << 16)
    let sent = NIOLockedValueBox(0)
    let total = 1000
    let server = try TestServer { exchange in
      exchange.head()
      @Sendable func send(_ index: Int) {
        guard index < total else { return exchange.end() }
        exchange.body(chunk).whenSuccess {
          sent.withLockedValue { $0 += 1 }
          send(index + 1)
        }
      }
      send(0)
    }
    var request = try HTTPRequest(server.url("/"))
    request.delivery = .stream(bufferLimit: 1 << 18)
    let response = try await AsyncHTTPClientLoader(.init(timeout: nil)).load(request).value
    var reader = response.bodyStream.makeAsyncIterator()
    var size = try #require(await reader.next()).count
    // The buffers of the sockets and of the stream hold a part of 64 MiB.
    #expect(sent.withLockedValue { $0 } < total / 2)

    while let bytes = try await reader.next() { size += bytes.count }

    #expect(size == total << 16)
    #expect(try await response.transfer.value == ())
  }

  @Test("The body of a request is read only as fast as the server receives it")
  func uploadBackPressure() async throws {
    let server = try LoopbackServer()
    let gate = LoopbackGate()
    server.on("/up", beginning: .headComplete, [.stopReading, .hold(gate), .close])
    let read = NIOLockedValueBox(0)
    var request = try HTTPRequest(.post, server.url("/up"))
    request.body = .asyncStream(isReplayable: false) {
      AsyncStream<Data> {
        read.withLockedValue { $0 += 1 }
        return Data(count: 1 << 16)
      }
    }
    let loader = AsyncHTTPClientLoader(.init(timeout: nil, idleTimeout: .milliseconds(300)))

    let outcome = await loader.load(request).outcome

    #expect(outcome.code == .timedOut)
    #expect(read.withLockedValue { $0 } < 1000)
    try await loader.reset().value
    gate.open()
  }

  @Test("Uploads whose responses arrive at once return their connection", arguments: [true, false])
  func uploads(hasLength: Bool) async throws {
    let server = try LoopbackServer()
    server.on("/up", .respond(body: "whole"))
    var configuration = AsyncHTTPClientLoader.Configuration(timeout: nil)
    configuration.client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
    let loader = AsyncHTTPClientLoader(configuration)
    for _ in 0..<200 {
      var request = try HTTPRequest(.put, server.url("/up"))
      request.body = .stream(length: hasLength ? 5 : nil) { HTTPBodyReader(InputStream(data: Data("12345".utf8))) }

      #expect(try await loader.load(request).value.body == Data("whole".utf8))
    }

    #expect(server.connectionCount == 1)
  }

  @Test("A large body in memory is sent in parts, each of which is progress and activity")
  func largeUpload() async throws {
    let server = try LoopbackServer()
    server.on("/", .respond(body: "whole"))
    let clock = ManualClock()
    let counts = NIOLockedValueBox<[Int]>([])
    var request = try HTTPRequest(.put, server.url("/"))
    request.body = .data(Data(count: 1 << 20), contentType: "text/plain")
    request.progress = { report in
      counts.withLockedValue { $0.append(report.sent.completed) }
      clock.advance(by: .milliseconds(900))
    }

    let load = AsyncHTTPClientLoader(.init(timeout: nil, idleTimeout: .seconds(1)), clock: clock).load(request)

    #expect(try await load.value.body == Data("whole".utf8))
    #expect(counts.withLockedValue { Set($0.filter { $0 > 0 }).count } >= 4)
    #expect(server.requests.first?.values(for: "content-length") == ["\(1 << 20)"])
  }

  @Test("Progress is reported in order for both bodies", arguments: [true, false])
  func progress(isForFile: Bool) async throws {
    let server = try LoopbackServer()
    server.on("/", .respond(body: String(repeating: "x", count: 100_000)))
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("progress-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let reports = NIOLockedValueBox<[HTTPProgress]>([])
    var request = try HTTPRequest(.post, server.url("/"))
    request.body = .data(Data(count: 200_000), contentType: "text/plain")
    if isForFile { request.delivery = .file(file) }
    request.progress = { report in reports.withLockedValue { $0.append(report) } }

    _ = try await AsyncHTTPClientLoader(.init(timeout: nil)).load(request).value

    let seen = reports.withLockedValue { $0 }
    let counts = seen.map { ($0.sent.completed, $0.received.completed) }
    #expect(zip(counts, counts.dropFirst()).allSatisfy { $0.0 <= $1.0 && $0.1 <= $1.1 })
    #expect(seen.last?.sent == HTTPProgress.Part(completed: 200_000, total: 200_000))
    #expect(seen.last?.received == HTTPProgress.Part(completed: 100_000, total: 100_000))
  }
}

/// A SOCKS5 proxy that accepts a client, and refuses to connect it.
private final class RefusingSOCKSProxy: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var isAccepted = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let refusal: [UInt8] = [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: isAccepted ? refusal : [5, 0])), promise: nil)
    isAccepted = true
  }
}
