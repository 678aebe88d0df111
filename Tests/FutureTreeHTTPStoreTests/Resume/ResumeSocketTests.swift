import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Resume on sockets", .onSockets, .timeLimit(.minutes(20))) struct ResumeSocketTests {
  private let server: LoopbackServer
  /// The strategy allows any number of attempts, because a reset can discard all bytes of a connection.
  private let api = Resume(.immediately(attempts: 1_000)) --> SystemLoader(.patient)

  init() throws {
    server = try Loopback.server()
  }

  private static let film: [UInt8] = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  /// Serves a film, and cuts each response at another byte.
  private func serve(end: LoopbackStep, allowsRanges: Bool = true) {
    let served = Locked(0)
    server.on("/film") { request in
      let number = served.withLock { served in
        served += 1
        return served
      }
      let first = allowsRanges ? Self.first(request) : 0
      let rest = Self.film[first...]
      let isLast = number == 12
      let count = isLast ? rest.count : min(rest.count, (number * 7_919) % 60_000)
      let range = first == 0 ? "" : "Content-Range: bytes \(first)-\(Self.film.count - 1)/\(Self.film.count)\r\n"
      let head =
        "HTTP/1.1 \(first == 0 ? "200 OK" : "206 Partial Content")\r\nETag: \"v1\"\r\n\(range)"
        + "Content-Length: \(rest.count)\r\n\r\n"
      return [.send(head), .send(Array(rest.prefix(count))), isLast ? .pause(.zero) : end]
    }
  }

  private static func first(_ request: LoopbackRequest) -> Int {
    guard request.values(for: "If-Range") == ["\"v1\""], let range = request.values(for: "Range").first else {
      return 0
    }
    return Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
  }

  @Test("A body that is cut eleven times arrives whole", arguments: [LoopbackStep.close, .reset], [true, false])
  func cut(end: LoopbackStep, allowsRanges: Bool) async throws {
    serve(end: end, allowsRanges: allowsRanges)
    let response = try await api.stream { try HTTPRequest(server.url("/film")) }.value
    let film = try await response.bodyStream.reduce(into: Data()) { $0 += $1 }

    expectEqual(film, Data(Self.film))
    await expectEqual(response.transfer.outcome.text, "success")
    expectEqual(server.requests.count, 12)
  }

  @Test("A file that is cut eleven times is whole after twelve runs", arguments: [LoopbackStep.close, .reset])
  func file(end: LoopbackStep) async throws {
    serve(end: end)
    let folder = try Folder()
    var request = try HTTPRequest(server.url("/film"))
    request.delivery = .file(folder.file("film"))
    for _ in 1...100 where !folder.names.contains("film") {
      let run = Resume(.immediately(attempts: 1), directory: folder.file("partial")) --> SystemLoader(.patient)
      let code = await run.load(request).outcome.code
      #expect(code == nil || code == .truncatedBody || code == .connectionLost)
    }

    try expectEqual(Data(contentsOf: folder.file("film")), Data(Self.film))
    expectEqual(server.requests.count, 12)
    #expect(Set(server.requests.map { $0.values(for: "Range") }).count > 5)
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.file("partial").path), [])
  }

  @Test("A download in parts whose connections are cut is whole", arguments: [LoopbackStep.close, .reset])
  func parts(end: LoopbackStep) async throws {
    let served = Locked<Set<String>>([])
    server.on("/film") { request in
      let range = request.values(for: "Range").first?.dropFirst("bytes=".count).split(separator: "-") ?? []
      let first = range.first.flatMap { Int($0) } ?? 0
      let last = range.count == 2 ? Int(range[1]) ?? 0 : Self.film.count - 1
      // The first response for each part is cut in the middle of the part.
      let isFirst = served.withLock { $0.insert("\(last)").inserted }
      let bytes = Self.film[first...last]
      let head =
        "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes \(first)-\(last)/\(Self.film.count)\r\n"
        + "Content-Length: \(bytes.count)\r\n\r\n"
      return [.send(head), .send(Array(bytes.prefix(isFirst ? 40_000 : bytes.count))), isFirst ? end : .pause(.zero)]
    }
    let folder = try Folder()
    let response = try await SystemLoader(.patient).download(
      HTTPRequest(server.url("/film")), to: folder.file("film"), inParts: 4, minimumPartSize: 1_000,
      retrying: .immediately(attempts: 1_000)
    ).value

    expectEqual(response.bodySize, Self.film.count)
    try expectEqual(Data(contentsOf: folder.file("film")), Data(Self.film))
    expectEqual(folder.names, ["film"])
    #expect(server.requests.count >= 8)
  }

  @Test("A reader that is slower than the server gets the whole body through a small buffer")
  func slowReader() async throws {
    server.on("/film") { request in
      let first = Self.first(request)
      let range = ("Content-Range", "bytes \(first)-\(Self.film.count - 1)/\(Self.film.count)")
      let headers = [("ETag", "\"v1\"")] + (first == 0 ? [] : [range])
      return [.respond(status: first == 0 ? 200 : 206, headers: headers, body: Array(Self.film[first...]))]
    }
    let response = try await api.stream {
      var request = try HTTPRequest(server.url("/film"))
      request.delivery = .stream(bufferLimit: 100_000)
      return request
    }.value
    let film = try await response.bodyStream.reduce(into: Data()) { $0 += $1 }

    expectEqual(film, Data(Self.film))
  }
}
