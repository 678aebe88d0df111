import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader, encoded bodies", .onSockets) struct EncodedBodiesTests {
  private let server: LoopbackServer
  private var configuration = URLSessionLoader.Configuration.patient

  init() throws {
    server = try Loopback.server()
    configuration.acceptsEncodedBodies = true
  }

  /// `hello hello hello hello`, in gzip.
  private static let gzip: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 200, 64, 39, 1, 227, 81, 61, 141, 23, 0, 0, 0,
  ]
  private static let text = "hello hello hello hello"

  private func load(_ path: String, _ change: (inout HTTPRequest) -> Void = { _ in }) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest(server.url(path))
    change(&request)
    return URLSessionLoader(configuration).load(request)
  }

  /// A response with these bytes, of which more or fewer are declared.
  private func answer(_ bytes: [UInt8], declared: Int? = nil, encoding: String = "gzip") -> LoopbackAnswer {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\n"
    let length = "Content-Length: \(declared ?? bytes.count)\r\n\r\n"
    return [.send(head + length), .send(bytes), .close]
  }

  @Test("A decoded body is delivered without the fields that describe its encoding")
  func decoded() async throws {
    server.on("/gzip", answer(Self.gzip))

    let response = try await load("/gzip").value

    try expectEqual(response.body, Data(Self.text.utf8))
    #expect(!response.headers.contains("Content-Encoding") && !response.headers.contains("Content-Length"))
    let requested = try #require(server.requests.first).values(for: "accept-encoding")
    expectEqual(requested.count, 1)
    expectEqual(requested.first?.hasPrefix("gzip, deflate"), true)
  }

  @Test("A body that is not encoded is unchanged, and so is the Accept-Encoding of a request")
  func plain() async throws {
    server.on("/plain", .respond(body: "plain"))
    var request = try HTTPRequest(server.url("/plain"))
    try request.setHeader("Accept-Encoding", "identity")

    let response = try await URLSessionLoader(configuration).load(request).value

    #expect(try response.body == Data("plain".utf8) && response.headers["Content-Length"] == "5")
    expectEqual(server.requests.first?.values(for: "accept-encoding"), ["identity"])
  }

  @Test("Limits count decoded bytes, in memory and in a file")
  func limit() async throws {
    server.on("/gzip", answer(Self.gzip))
    let folder = try Folder()
    for delivery in [
      ResponseDelivery.buffered(maximumSize: 22), .file(folder.file("body"), maximumSize: 22),
    ] {
      let outcome = try await load("/gzip") { $0.delivery = delivery }.outcome
      expectEqual(outcome.code, .bodyTooLarge)
    }
    let whole = try await load("/gzip") { $0.delivery = .file(folder.file("body")) }.value

    expectEqual(whole.bodySize, 23)
    expectEqual(folder.names, ["body"])
    expectEqual(folder.text(of: "body"), Self.text)
  }

  @Test("Progress counts decoded bytes and has no total")
  func progress() async throws {
    server.on("/gzip", answer(Self.gzip))
    let seen = Locked<[HTTPProgress.Part]>([])

    _ = try await load("/gzip") { request in
      request.progress = { progress in seen.withLock { $0.append(progress.received) } }
    }.value

    expectEqual(seen.value.last, HTTPProgress.Part(completed: 23, total: nil))
  }

  @Test("Truncated framing and invalid encoded data are errors (H12, whole bodies)")
  func cut() async throws {
    server.on("/cut", answer(Array(Self.gzip.prefix(20)), declared: Self.gzip.count))
    let chunked = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n"
    server.on("/chunks", [.send(chunked), .send(Array(Self.gzip.prefix(20))), .close])
    server.on("/garbage", answer(Array("not gzip at all".utf8)))
    server.on("/ambiguous", .respond(headers: [("Content-Encoding", "gzip"), ("Content-Length", "3, 4")], body: ""))

    try await expectEqual(load("/cut").outcome.ending, .failed)
    try await expectEqual(load("/chunks").outcome.ending, .failed)
    try await expectEqual(load("/garbage").outcome.code, .encodedBody)
    try await expectEqual(load("/ambiguous").outcome.ending, .failed)
  }

  @Test("An empty encoded body is delivered, in a redirect as well", arguments: [true, false])
  mutating func empty(isAccepted: Bool) async throws {
    configuration.acceptsEncodedBodies = isAccepted
    let fields = [("Content-Encoding", "gzip"), ("Content-Length", "0")]
    server.on("/accepted", .respond(status: 202, headers: fields))
    server.on("/moved", .respond(status: 302, headers: fields + [("Location", "/accepted")]))

    let response = try await load("/accepted").value
    let redirected = (Redirect() --> URLSessionLoader(configuration)).load(try HTTPRequest(server.url("/moved")))

    expectEqual(response.bodySize, 0)
    expectEqual(response.headers["Content-Encoding"], "gzip")
    try await expectEqual(redirected.value.status.code, 202)
  }

  @Test(
    "An encoding that the platform does not know is delivered, or is an error that is not retried, as libcurl decides")
  func unknown() async throws {
    for encoding in ["aws-chunked", "utf-8"] {
      server.on("/\(encoding)", answer(Array("text".utf8), encoding: encoding))
      let outcome = await (Retry(.immediately()) --> URLSessionLoader(configuration)).load(
        try HTTPRequest(server.url("/\(encoding)"))
      ).outcome

      #if canImport(FoundationNetworking)
        expectEqual(outcome.code, .encodedBody)
      #else
        try expectEqual(outcome.get().body, Data("text".utf8))
      #endif
    }
    expectEqual(server.requestCount, 2)
  }

  @Test("An encoding that was not requested is an error, and every encoding is by default on Linux")
  mutating func refused() async throws {
    server.on("/gzip", answer(Self.gzip))
    server.on("/other", answer(Self.gzip, encoding: "zstd"))

    try await expectEqual(load("/other").outcome.ending, .failed)
    configuration.acceptsEncodedBodies = false
    try await expectEqual(load("/gzip").outcome.code, .encodedBody)
    #if canImport(FoundationNetworking)
      #expect(!URLSessionLoader.Configuration().acceptsEncodedBodies)
    #else
      #expect(URLSessionLoader.Configuration().acceptsEncodedBodies)
    #endif
  }

  #if canImport(FoundationNetworking)
    /// When this fails, the platform is fixed, and the warning of `acceptsEncodedBodies` can be removed.
    @Test("On Linux, encoded data that ends early in a whole frame is a shorter success")
    func endsEarly() async throws {
      server.on("/early", answer(Array(Self.gzip.prefix(16))))

      let response = try await load("/early").value

      #expect(response.bodySize < Self.text.utf8.count)
    }
  #endif
}
