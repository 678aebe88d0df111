import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("URLSessionLoader, bodies to a file", .onSockets) struct FileDeliveryTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)
  private let folder: Folder

  init() throws {
    server = try Loopback.server()
    folder = try Folder()
  }

  private func load(_ path: String, maximumSize: Int? = nil, to name: String = "body") throws -> Future<HTTPResponse> {
    var request = try HTTPRequest(server.url(path))
    request.delivery = .file(folder.file(name), maximumSize: maximumSize)
    return loader.load(request)
  }

  private static let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"

  @Test("A body is in its file when the future completes, and in no other file")
  func delivered() async throws {
    let text = String(repeating: "0123456789", count: 50_000)
    server.on("/file", .respond(body: text))
    _ = try folder.write("old", to: "body")

    let response = try await load("/file").value

    guard case .file(let url, let size) = response.content else {
      Issue.record("The response has no file: \(response)")
      return
    }
    expectEqual(url, folder.file("body"))
    expectEqual(size, 500_000)
    expectEqual(response.bodySize, 500_000)
    expectEqual(folder.text(of: "body"), text)
    expectEqual(folder.names, ["body"])
  }

  @Test("An empty body is an empty file, and a response without a body is no file")
  func noBytes() async throws {
    server.on("/empty", .respond())
    server.on("/204", .status(204))

    let empty = try await load("/empty", to: "empty").value
    let none = try await load("/204", to: "none").value

    expectEqual(empty.content.description, "0 bytes in a file")
    expectEqual(none.content.description, "0 bytes")
    expectEqual(folder.names, ["empty"])
  }

  @Test("An unsuccessful response is delivered in memory, and the file is unchanged")
  func explanation() async throws {
    server.on("/missing", .respond(status: 404, body: "not here"))
    _ = try folder.write("old", to: "body")

    let response = try await load("/missing").value

    try expectEqual(response.body, Data("not here".utf8))
    expectEqual(folder.text(of: "body"), "old")
    expectEqual(folder.names, ["body"])
  }

  @Test("A truncated or oversized body is an error, and the file is unchanged")
  func cutOrTooLarge() async throws {
    server.on("/cut", [.send(Self.cut), .close])
    server.on("/chunks", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .close])
    server.on("/large", .respond(body: "0123456789A"))
    _ = try folder.write("old", to: "body")

    try await expectEqual(load("/cut").outcome.code, .truncatedBody)
    try await expectEqual(load("/chunks").outcome.code, .truncatedBody)
    try await expectEqual(load("/large", maximumSize: 10).outcome.code, .bodyTooLarge)
    expectEqual(folder.text(of: "body"), "old")
    expectEqual(folder.names, ["body"])
  }

  @Test(
    "A cancelled request leaves no file",
    arguments: [CancellationOptions(), .forceImmediately])
  func cancelled(options: CancellationOptions) async throws {
    let gate = LoopbackGate()
    server.on("/held", [.send(Self.cut), .hold(gate)])
    let begun = Promise<Void>()
    var request = try HTTPRequest(server.url("/held"))
    request.delivery = .file(folder.file("body"), maximumSize: nil)
    request.progress = { if $0.received.completed > 0 { begun.succeed(()) } }
    let future = loader.load(request)
    _ = await begun.future.outcome
    expectEqual(folder.names.count, 1)

    future.cancel(options)

    await expectEqual(future.outcome.ending, .cancelled)
    try await loader.reset().value
    expectEqual(folder.names, [])
  }

  @Test("A missing directory, a directory instead of a file, and another scheme fail before a request")
  func nowhere() async throws {
    for url in [folder.file("missing/body"), folder.url, try #require(URL(string: "http://localhost/body"))] {
      var request = try HTTPRequest(server.url("/file"))
      request.delivery = .file(url, maximumSize: nil)

      await expectEqual(loader.load(request).outcome.code, .unwritableBody)
    }
    expectEqual(server.connectionCount, 0)
  }

  @Test("A directory that is removed while the body arrives is an error")
  func vanishes() async throws {
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond(body: "body")])
    let future = try load("/held")
    _ = try await gate.waitForHolders().value

    try FileManager.default.removeItem(at: folder.url)
    gate.open()

    await expectEqual(future.outcome.code, .unwritableBody)
  }

  @Test("A full disk is an error, and leaves no file")
  func full() async {
    await #expect(processExitsWith: .success) {
      let folder = try Folder()
      let server = try Loopback.server()
      server.on("/file", .respond(body: String(repeating: "0123456789", count: 10_000)))
      // From here on, no file can exceed 50,000 bytes.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 50_000, rlim_max: 50_000)
      #if canImport(Glibc)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      #else
        setrlimit(RLIMIT_FSIZE, &limit)
      #endif
      var request = try HTTPRequest(server.url("/file"))
      request.delivery = .file(folder.file("body"), maximumSize: nil)

      let outcome = await URLSessionLoader(.patient).load(request).outcome

      expectEqual(outcome.code, .unwritableBody, "\(outcome)")
      expectEqual(folder.names, [])
    }
  }

  @Test("An error has the message of the file system, and no path")
  func fullDevice() throws {
    let descriptor = open("/dev/full", O_WRONLY)
    try #require(descriptor >= 0)
    let file = BodyFile(descriptor, temporary: folder.file("temporary").path, for: folder.file("body"))

    let error = #expect(throws: HTTPError.self) { try file.append(Data("body".utf8)) }

    expectEqual(error?.code, .unwritableBody)
    expectEqual(error?.description.contains("No space left on device"), true)
    expectEqual(error?.description.contains(folder.url.path), false)
    file.discard()
    expectEqual(folder.names, [])
  }

  @Test("A file is not an empty body")
  func noEmptyBody() throws {
    let url = URL(fileURLWithPath: "/film")
    let response = HTTPResponse(to: try HTTPRequest("http://a/"), status: .ok, content: .file(url, size: 3))

    let error = #expect(throws: HTTPError.self) { try response.body }

    expectEqual(error?.code, .bodyInFile)
    expectEqual(Future.succeeded(response).decoded(as: Int.self).text, "bodyInFile")
  }

  @Test("A printed file shows its size, and no path")
  func printed() throws {
    let url = URL(fileURLWithPath: "/\(sentinel)/film")
    let response = HTTPResponse(to: try HTTPRequest("http://a/"), status: .ok, content: .file(url, size: 3))
    var dumped = ""

    dump(response, to: &dumped)
    dump(response.content, to: &dumped)

    #expect("\(response)" == "GET http://a/: 200, 3 bytes in a file")
    #expect(!dumped.contains(sentinel))
  }
}
