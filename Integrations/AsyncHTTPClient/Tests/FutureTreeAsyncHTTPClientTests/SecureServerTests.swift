import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeNIO
import FutureTreeTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("AsyncHTTPClientLoader, TLS and HTTP/2") struct SecureServerTests {
  private let loader: AsyncHTTPClientLoader

  init() throws {
    loader = try secureLoader()
  }

  private func load(_ server: TestServer, _ path: String) throws -> Future<HTTPResponse> {
    loader.load(try HTTPRequest(server.url(path, scheme: "https")))
  }

  @Test("A server that speaks HTTP/1.1 or HTTP/2 over TLS is asked", arguments: [false, true])
  func negotiated(isHTTP2: Bool) async throws {
    let server = try TestServer(isHTTP2 ? .http1OrHTTP2 : .http1) { $0.respond("hello") }

    for _ in 0..<2 { #expect(try await load(server, "/a").value.body == Data("hello".utf8)) }

    #expect(server.record.connections == 1)
  }

  @Test("A certificate that is not trusted is an error, and the request is not sent")
  func untrusted() async throws {
    let server = try TestServer(.http1OrHTTP2) { $0.respond("hello") }

    let outcome = await AsyncHTTPClientLoader(.init(timeout: nil)).load(
      try HTTPRequest(server.url("/", scheme: "https"))
    )
    .outcome

    #expect(outcome.code == .insecureConnection)
    #expect(server.record.requests == 0)
  }

  @Test("A port without TLS is an error of the connection")
  func notTLS() async throws {
    let server = try TestServer { $0.respond("hello") }

    #expect(try await load(server, "/").outcome.code == .insecureConnection)
  }

  @Test("With HTTP/2, a cancellation request ends one stream and not the others of its connection")
  func branch() async throws {
    let held = NIOLockedValueBox<[String: TestServer.Exchange]>([:])
    let arrived = Promise<Void>()
    let closed = Promise<Void>()
    let server = try TestServer(.http1OrHTTP2) { exchange in
      guard exchange.path != "/first" else { return exchange.respond("first") }
      if exchange.path == "/cancelled" { exchange.channel.closeFuture.whenComplete { _ in closed.succeed() } }
      let count = held.withLockedValue { held in
        held[exchange.path] = exchange
        return held.count
      }
      if count == 2 { arrived.succeed() }
    }
    _ = try await load(server, "/first").value  // The connection is established once.
    let (cancelled, kept) = (try load(server, "/cancelled"), try load(server, "/kept"))
    try await arrived.future.value

    cancelled.cancel()

    #expect(await cancelled.outcome.ending == .cancelled)
    try await closed.future.value
    #expect(!kept.isCompleted)
    held.withLockedValue { $0["/kept"] }?.respond("kept")
    #expect(try await kept.value.body == Data("kept".utf8))
    #expect(server.record.connections == 1 && server.record.closedConnections == 0)
  }

  @Test("A stream that the server resets is an error: before its head, and in its body")
  func resetStream() async throws {
    let server = try TestServer(.http1OrHTTP2) { exchange in
      guard exchange.path == "/body" else { return exchange.channel.close(promise: nil) }
      exchange.head(.ok, ["Content-Length": "10"])
      exchange.body(ByteBuffer(string: "0123")).whenComplete { _ in exchange.channel.close(promise: nil) }
    }

    #expect(try await load(server, "/head").outcome.code == .connectionLost)
    #expect(try await load(server, "/body").outcome.code == .truncatedBody)
  }

  @Test("A body without a declared length that the server resets is an error")
  func resetWithoutLength() async throws {
    let server = try TestServer(.http1OrHTTP2) { exchange in
      exchange.head()
      exchange.body(ByteBuffer(string: "0123")).whenComplete { _ in exchange.channel.close(promise: nil) }
    }

    #expect(try await load(server, "/").outcome.code == .truncatedBody)
  }

  @Test("A reset waits for all streams, and the connection remains usable")
  func reset() async throws {
    let arrived = Promise<Void>()
    let count = NIOLockedValueBox(0)
    let server = try TestServer(.http1OrHTTP2) { exchange in
      guard exchange.path == "/held" else { return exchange.respond("ok") }
      if count.withLockedValue({
        $0 += 1
        return $0
      }) == 3 {
        arrived.succeed()
      }
    }
    _ = try await load(server, "/ok").value
    let held = try (0..<3).map { _ in try load(server, "/held") }
    try await arrived.future.value

    try await loader.reset().value

    #expect(held.allSatisfy { $0.outcomeIfCompleted?.ending == .cancelled })
    #expect(try await load(server, "/ok").value.status == .ok)
    #expect(server.record.connections == 1)
  }

  @Test("A shutdown with open connections over TLS completes")
  func shutdown() async throws {
    let server = try TestServer(.http1OrHTTP2) { $0.respond("ok") }
    _ = try await load(server, "/ok").value

    try await loader.shutdown().value
  }
}
