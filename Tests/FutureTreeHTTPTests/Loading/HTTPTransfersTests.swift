import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Downloads and uploads", .onSockets) struct HTTPTransfersTests {
  private struct Photo: Codable, Hashable, Sendable { var id = 7 }

  private let server: LoopbackServer
  private let api: any HTTPLoader
  private let folder: Folder

  init() throws {
    server = try Loopback.server()
    let port = try HTTPURL(server.url("/")).port
    let environment = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: port)
    api = (ApplyEnvironment(environment) --> SystemLoader(.patient))
    folder = try Folder()
  }

  @Test("A download is written to its file, and its progress ends with the total")
  func download() async throws {
    server.on("/film", .respond(body: String(repeating: "x", count: 100_000)))
    let progress = Locked(HTTPProgress())

    let response = try await api.download("film", to: folder.file("film")) { progress.value = $0 }.value

    expectEqual(response.content.description, "100000 bytes in a file")
    expectEqual(folder.names, ["film"])
    expectEqual(progress.value.received, .init(completed: 100_000, total: 100_000))
  }

  @Test("Progress on the main actor is reported before the completion of the download there")
  func progressOnMain() async throws {
    server.on("/film", .respond(body: "film"))
    let log = MainLog()

    _ = try await api.download(
      "film", to: folder.file("film"), on: .main, onProgress: { log.add("\($0.received.completed)") }
    ).map(on: .main) { _ in log.add("done") }.value

    let entries = await log.entries
    expectEqual(entries.last, "done")
    #expect(entries.contains("4"))
  }

  @Test("A status without a body, or an unsuccessful one, fails the download and leaves no file")
  func noFile() async throws {
    server.on("/204", .status(204))
    server.on("/404", .respond(status: 404, body: "not here"))

    for path in ["204", "404"] {
      let error = await #expect(throws: HTTPError.self) {
        try await api.download("\(path)", to: folder.file("x")).value
      }
      expectEqual(error?.code, .unacceptableStatus)
      #expect(error?.response != nil)
    }
    #expect(folder.names.isEmpty)
  }

  @Test("The limit of a download defaults to 1 GiB")
  func limit() async throws {
    server.on("/film", .respond(body: "0123456789"))
    expectEqual(ResponseDelivery.file(folder.file("x")).maximumSize, 1 << 30)
    expectEqual(ResponseDelivery.file(folder.file("x"), maximumSize: nil).maximumSize, .max)

    let error = await #expect(throws: HTTPError.self) {
      try await api.download("film", to: folder.file("film"), maximumSize: 9).value
    }

    expectEqual(error?.code, .bodyTooLarge)
    #expect(folder.names.isEmpty)
  }

  @Test("An upload sends its form, reports the bytes sent, and decodes the response")
  func upload() async throws {
    server.on("/photos", method: "POST", .json(#"{"id": 7}"#, status: 201))
    let file = try folder.write("jpeg", to: "photo.jpg")
    let progress = Locked(HTTPProgress())

    let photo = try await api.upload(
      "photos", body: try .multipart([.text("title", "Sea"), .file("photo", file, contentType: "image/jpeg")]),
      onProgress: { progress.value = $0 }, as: Photo.self
    ).value

    let request = try #require(server.record.requests.first)
    expectEqual(photo, Photo())
    #expect(request.text.contains("Sea"))
    #expect(request.text.contains("jpeg"))
    expectEqual(progress.value.sent.completed, request.body.count)
  }

  @Test("An upload accepts another method, and its progress in a trailing closure")
  func put() async throws {
    server.on("/notes/1", method: "PUT", .status(204))
    let sent = Locked(0)

    let response = try await api.upload("notes/\(1)", method: .put, body: .data(Data("note".utf8))) { progress in
      sent.value = progress.sent.completed
    }.value

    expectEqual(response.status, .noContent)
    expectEqual(sent.value, 4)
  }

  @Test("An upload reports progress on the main actor")
  func uploadOnMain() async throws {
    server.on("/photos", method: "POST", .json(#"{"id": 7}"#))
    let log = MainLog()

    _ = try await api.upload(
      "photos", body: .data(Data("12345".utf8)), on: .main, onProgress: { log.add("\($0.sent.completed)") },
      as: Photo.self
    ).map(on: .main) { _ in log.add("done") }.value
    _ = try await api.upload("photos", body: .data(Data("123".utf8)), on: .main) { log.add("\($0.sent.completed)") }
      .map(on: .main) { _ in log.add("done") }.value

    let entries = await log.entries
    expectEqual(entries.filter { $0 == "done" }.count, 2)
    #expect(entries.contains("5"))
  }

  @Test("While an update waits for the main actor, a later one replaces it")
  @MainActor func latestOnMain() async throws {
    let (mock, log) = (MockLoader(), MainLog())
    let held = mock.hold("/photos")
    let load = mock.upload("http://a.example/photos", body: .data(Data("12345".utf8)), on: .main) { progress in
      log.add("\(progress.sent.completed)")
    }

    for completed in 1...3 { held.report(HTTPProgress(sent: .init(completed: completed, total: 5))) }
    expectEqual(log.entries, [])
    await mainQueueIsEmpty()
    expectEqual(log.entries, ["3"])
    held.report(HTTPProgress(sent: .init(completed: 5, total: 5)))
    held.answer()
    #expect(load.isCompleted)
    await mainQueueIsEmpty()

    expectEqual(log.entries, ["3", "5"])
  }

  /// Returns when the main queue has run the jobs that it has now.
  @MainActor private func mainQueueIsEmpty() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }
}

@MainActor
private final class MainLog {
  private(set) var entries: [String] = []

  func add(_ entry: String) { entries.append(entry) }
}
