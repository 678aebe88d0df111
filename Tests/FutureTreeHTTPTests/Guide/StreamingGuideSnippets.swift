import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The code of the article *Streaming*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Streaming", .onSockets, .timeLimit(.minutes(20)))
struct StreamingGuideSnippets {
  private let server: LoopbackServer
  private let environment: ServerEnvironment
  private let api: any HTTPLoader

  init() throws {
    server = try Loopback.server()
    environment = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(server.port))
    api = (ApplyEnvironment(environment) --> SystemLoader(.patient))
  }

  @Test("A body is written while it arrives")
  func read() async throws {
    server.on("/films/7", .respond(body: "a film"))
    let id = 7
    let folder = try Folder()
    let url = try folder.write("", to: "film")
    let file = try FileHandle(forWritingTo: url)

    // guide read
    let response = try await api.stream("films/\(id)").value  // The head has arrived.
    for try await chunk in response.bodyStream {
      try file.write(contentsOf: chunk)
    }
    // end

    #expect(folder.text(of: "film") == "a film")
    #expect(await response.transfer.outcome.ending == .succeeded)
  }

  @Test("The fields after a body are read")
  func trailers() async throws {
    let (mock, id) = (MockLoader(), 7)
    mock.on("/films/7", .respond(body: Data("a film".utf8), trailers: try HTTPHeaders(["X-Count": "6"])))
    let api = ApplyEnvironment(environment) --> mock

    // guide trailers
    let response = try await api.stream("films/\(id)").value
    var count = 0
    for try await chunk in response.bodyStream { count += chunk.count }
    let isWhole = response.trailers["X-Count"] == "\(count)"
    // end

    #expect(isWhole)
  }

  @Test("A body is resumed")
  func resume() async throws {
    let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 6\r\n\r\na f"
    let part = [("Content-Range", "bytes 3-5/6"), ("ETag", "\"v1\"")]
    server.on("/films/7", [.send(head), .close], .respond(status: 206, headers: part, body: "ilm"))
    let (production, transport, id) = (environment, SystemLoader(.patient), 7)
    let folder = try Folder()
    let file = try FileHandle(forWritingTo: folder.write("", to: "film"))

    // guide resume
    let api = Autocancel() --> ApplyEnvironment(production) --> Resume() --> transport

    let response = try await api.stream("films/\(id)").value
    for try await chunk in response.bodyStream {
      try file.write(contentsOf: chunk)  // One body, from as many connections as it needs.
    }
    // end

    #expect(folder.text(of: "film") == "a film")
    #expect(server.requests.map { $0.values(for: "Range").first } == [nil, "bytes=3-"])
  }

  @Test("A download is continued in a later run")
  func download() async throws {
    let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 6\r\n\r\na f"
    let part = [("Content-Range", "bytes 2-5/6"), ("ETag", "\"v1\"")]
    server.on("/films/7", [.send(head), .close], .respond(status: 206, headers: part, body: "film"))
    let id = 7
    let folder = try Folder()
    let (caches, file) = (folder.url, folder.file("film"))
    let first = Resume(.immediately(attempts: 1), directory: folder.file("downloads"))
    let transport = SystemLoader(.patient)
    let firstRun = ApplyEnvironment(environment) --> first --> transport
    #expect(await firstRun.download("films/\(id)", to: file).outcome.code == .truncatedBody)
    let production = environment

    // guide download
    let downloads = Resume(directory: caches.appendingPathComponent("downloads"))
    let api = Autocancel() --> ApplyEnvironment(production) --> downloads --> transport

    let film = try await api.download("films/\(id)", to: file).value  // Continues where an earlier run ended.
    // end

    #expect(film.bodySize == 6)
    #expect(folder.text(of: "film") == "a film")
    #expect(server.requests.map { $0.values(for: "Range").first } == [nil, "bytes=2-"])
  }

  @Test("A button stops a body")
  func stop() async throws {
    server.on("/radio", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nmusic"), .stall])
    let stopButton = StreamingGuideButton()

    // guide stop
    let response = try await api.stream("radio").value
    stopButton.action = { response.transfer.cancel(reason: "the user pressed Stop") }
    // end

    stopButton.action?()
    #expect(await response.transfer.outcome.text == "cancelled")
    _ = try await server.waitForClose(of: "/radio").value
  }
}

/// The button of the article.
final class StreamingGuideButton: Sendable {
  private let closure = Locked<(@Sendable () -> Void)?>(nil)

  var action: (@Sendable () -> Void)? {
    get { closure.value }
    set { closure.value = newValue }
  }
}
