import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("A whole chain on sockets", .onSockets, .timeLimit(.minutes(20)))
struct WholeChainTests {
  private struct User: Codable, Equatable {
    let name: String
  }

  private let server: LoopbackServer
  private let api: any HTTPLoader

  init() throws {
    server = try Loopback.server()
    let host = try ServerEnvironment(
      scheme: .http, host: "127.0.0.1", port: HTTPURL(server.url("/")).port, pathPrefix: "/v1",
      headers: [("X-Team", "blue")])
    api =
      (ResetGuard() --> Autocancel() --> ApplyEnvironment(host)
        --> ModifyRequest { request in try request.setHeader("Accept", "application/json") }
        --> SystemLoader(.patient))
  }

  @Test("A value is sent as JSON and decoded from JSON")
  func json() async throws {
    server.on("/v1/users", .respond(status: 201, body: #"{"name": "Ada"}"#))
    var request = try HTTPRequest(.post, path: "users")
    request.body = try .json(User(name: "Ada"))

    let user = try await api.load(request).validated().decoded(as: User.self).value

    let received = try #require(server.record.requests.first)
    expectEqual(user, User(name: "Ada"))
    expectEqual(received.path, "/v1/users")
    expectEqual(received.text, #"{"name":"Ada"}"#)
    expectEqual(
      ["X-Team", "Accept", "Content-Type"].flatMap { received.values(for: $0) },
      ["blue", "application/json", "application/json"])
  }

  @Test("A form with a file has its announced length")
  func multipart() async throws {
    server.on("/v1/files", .respond(body: "ok"))
    let file = try TemporaryFile(String(repeating: "x", count: 100_000))
    var request = try HTTPRequest(.post, path: "files")
    request.body = try .multipart([.text("title", "film"), .file("film", file.url)])
    let length = try #require(request.body.contentLength)

    await expectEqual(api.load(request).outcome.text, "success")

    let received = try #require(server.record.requests.first)
    expectEqual(received.body.count, length)
    expectEqual(received.values(for: "Content-Length"), ["\(length)"])
  }

  @Test("A reset closes connections, refuses new loads, and leaves the chain usable")
  func reset() async throws {
    server.on("/v1/stall", .stall)
    server.on("/v1/ok", .respond(body: "ok"))
    let stalled = try (0..<3).map { _ in api.load(try HTTPRequest(.get, path: "stall")) }
    _ = try await server.waitUntil { $0.requests.count == 3 }.value

    let reset = api.reset()
    let refused = api.load(try HTTPRequest(.get, path: "ok"))

    await expectEqual(reset.outcome.text, "success")
    for load in stalled { await expectEqual(load.outcome.text, "cancelled") }
    // The reset may have ended before the load: then the load succeeds.
    #expect(["resetInProgress", "success"].contains(await refused.outcome.text))
    await expectEqual(api.load(try HTTPRequest(.get, path: "ok")).outcome.text, "success")
    _ = try await server.waitUntil { $0.abandonedPaths.count == 3 }.value
  }

  @Test("A task reports the progress of its load")
  func task() async throws {
    server.on("/v1/film", .respond(body: String(repeating: "x", count: 10_000)))
    let task = api.task(for: try HTTPRequest(.get, path: "film"))

    await expectEqual(task.start().outcome.text, "success")

    expectEqual(task.progress.received, HTTPProgress.Part(completed: 10_000, total: 10_000))
  }
}
