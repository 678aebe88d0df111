import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// A film of twelve bytes that is downloaded in parts. The test sends them.
struct PartedFilm {
  static let text = "0123456789ab"
  static let tag = "\"v1\""

  let mock = MockLoader()
  let clock = ManualClock()
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  /// Expects the request for a range, and answers with a part of the film.
  func part(
    _ asked: String, _ sent: String, tag: String? = PartedFilm.tag, _ fields: [(String, String)] = [], status: Int = 206
  ) -> HeldStream {
    let fields = fields + [("Content-Range", "bytes \(sent)")] + (tag.map { [("ETag", $0)] } ?? [])
    return mock.stream(
      .header("Range", "bytes=\(asked)"), status: HTTPStatus(status), headers: received(fields))
  }

  /// Expects a request without a range. Call it after the calls for ranges.
  func whole(tag: String = PartedFilm.tag) -> HeldStream {
    mock.stream("/film", headers: received([("Content-Length", "12"), ("ETag", tag)]))
  }

  /// Expects three parts of four bytes.
  func threeParts() -> [HeldStream] { [part("0-", "0-11/12"), part("4-7", "4-7/12"), part("8-11", "8-11/12")] }

  /// Answers all requests as a server with ranges does.
  func serve(_ text: String = PartedFilm.text) {
    let answer = MockAnswer.make { request in
      let bytes = Data(text.utf8)
      let tag = ("ETag", PartedFilm.tag)
      guard let range = request.headers["Range"]?.dropFirst("bytes=".count).split(separator: "-") else {
        return HTTPResponse(to: request, status: .ok, headers: received([tag]), body: bytes)
      }
      let (first, last) = (Int(range[0]) ?? 0, range.count == 1 ? bytes.count - 1 : Int(range[1]) ?? 0)
      let fields = received([tag, ("Content-Range", "bytes \(first)-\(last)/\(bytes.count)")])
      return HTTPResponse(to: request, status: HTTPStatus(206), headers: fields, body: bytes[first...last])
    }
    mock.on("/film", answer.forever())
  }

  @discardableResult
  func load(
    parts: Int = 3, minimumPartSize: Int = 1, maximumSize: Int? = nil,
    _ strategy: RetryStrategy = .immediately(attempts: 3), configure: (inout HTTPRequest) throws -> Void = { _ in }
  ) -> Future<HTTPResponse> {
    .attempt {
      var request = anyRequest("/film")
      try configure(&request)
      return mock.download(
        request, to: folder.file("film"), inParts: parts, minimumPartSize: minimumPartSize, maximumSize: maximumSize,
        retrying: strategy, clock: clock, random: .seeded(1))
    }
  }

  var text: String? { folder.text(of: "film") }

  /// The headers `Range` of all requests, sorted. `-` means that it is missing.
  var ranges: [String] { mock.requests.map { $0.headers["Range"] ?? "-" }.sorted() }
}

extension HeldStream {
  /// Waits for the load, sends text, and waits until it has been read.
  func sendAndWait(_ text: String) async {
    await sendNext(text)
    while !isAwaited { await Task.yield() }
  }

  /// Waits for a cancellation request.
  func waitForCancel() async {
    while cancelRequest == nil { await Task.yield() }
  }
}

@Suite("Downloads in parts") struct DownloadInPartsTests {
  private let film: PartedFilm

  init() throws {
    film = try PartedFilm()
  }

  @Test("The file has all bytes, for any number of parts", arguments: [1, 2, 3, 5, 7, 12, 16])
  func whole(parts: Int) async throws {
    film.serve()
    let response = try await film.load(parts: parts).value

    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.folder.names, ["film"])
    expectEqual(film.mock.requests.count, min(parts, 12))
    expectEqual(response.status, .ok)
    expectEqual(response.content.description, "12 bytes in a file")
    #expect(response.headers["Content-Range"] == nil)
    expectEqual(response.request.delivery.file, film.folder.file("film"))
  }

  @Test("Each part is requested once, with the validator of the first response")
  func requests() async throws {
    film.serve()
    _ = try await film.load().value

    expectEqual(film.ranges, ["bytes=0-", "bytes=4-7", "bytes=8-11"])
    expectEqual(
      film.mock.requests.map { $0.headers["If-Range"] ?? "-" }.sorted(), [PartedFilm.tag, PartedFilm.tag, "-"])
    #expect(film.mock.requests.allSatisfy { $0.headers["Accept-Encoding"] == "identity" })
  }

  @Test("A resource is divided into parts of the minimum size", arguments: [(4, 3), (5, 2), (7, 1), (0, 12), (-1, 12)])
  func minimumPartSize(size: Int, count: Int) async throws {
    film.serve()
    _ = try await film.load(parts: 16, minimumPartSize: size).value

    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.mock.requests.count, count)
  }

  @Test("The rest of the first response is cancelled, and its end is awaited")
  func surplus() async throws {
    let parts = film.threeParts()
    let load = film.load()
    await parts[0].sendNext("0123456789")
    await parts[0].waitForCancel()
    for (part, text) in zip(parts.dropFirst(), ["4567", "89ab"]) {
      await part.sendNext(text)
      part.finish()
    }
    for _ in 1...1_000 { await Task.yield() }
    #expect(!load.isCompleted)
    #expect(film.text == nil)
    parts[0].completeCancelled()
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
  }

  @Test("Parts that arrive in reverse order are written at their positions")
  func reverse() async throws {
    let parts = film.threeParts()
    let load = film.load()
    for (part, text) in zip(parts.dropFirst(), ["4567", "89ab"]).reversed() {
      await part.sendAndWait(text)
      part.finish()
    }
    parts[0].send("0123")
    await parts[0].waitForCancel()
    parts[0].completeCancelled()
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
  }

  @Test("A part that fails is repeated alone, from the byte at which it stopped")
  func repeated() async throws {
    let parts = film.threeParts() + [film.part("6-7", "6-7/12"), film.part("2-3", "2-3/12")]
    let load = film.load()
    await parts[1].sendNext("45")
    parts[1].fail(lost)
    await parts[0].sendNext("01")
    parts[0].fail(lost)
    await parts[3].sendNext("67")
    parts[3].finish()
    await parts[4].sendNext("23")
    parts[4].finish()
    #expect(parts[2].cancelRequest == nil)
    await parts[2].sendNext("89ab")
    parts[2].finish()
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.ranges, ["bytes=0-", "bytes=2-3", "bytes=4-7", "bytes=6-7", "bytes=8-11"])
    expectEqual(parts[3].request?.headers["If-Range"], PartedFilm.tag)
  }

  @Test("A part whose response is shorter than the range is continued, and one that is longer is cut")
  func otherRanges() async throws {
    let parts = [
      film.part("0-", "0-1/12"), film.part("4-7", "4-9/12"), film.part("8-11", "8-11/12"), film.part("2-3", "2-3/12"),
    ]
    let load = film.load()
    for (part, text) in zip(parts, ["01", "456789", "89ab", "23"]) {
      await part.sendNext(text)
      part.finish()
    }
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
  }

  @Test("If a part fails for good, the others are cancelled, and the future fails when they have ended")
  func failed() async throws {
    let parts = film.threeParts()
    let load = film.load(.immediately(attempts: 1))
    await parts[0].sendAndWait("01")
    await parts[2].sendAndWait("89")
    await parts[1].sendNext("45")
    parts[1].fail(lost)
    for part in [parts[0], parts[2]] { await part.waitForCancel() }
    for _ in 1...1_000 { await Task.yield() }
    #expect(!load.isCompleted)
    for part in parts { part.completeCancelled() }

    await expectEqual(load.outcome.code, .connectionLost)
    expectEqual(film.folder.names, [])
  }

  @Test("The request decides whether a part is repeated")
  func never() async throws {
    let parts = film.threeParts()
    let load = film.load { $0.retry = .never }
    await parts[1].sendNext("45")
    parts[1].fail(lost)
    for part in [parts[0], parts[2]] {
      await part.waitForCancel()
      part.completeCancelled()
    }

    await expectEqual(load.outcome.code, .connectionLost)
  }

  @Test("Progress is the sum of all parts")
  func progress() async throws {
    let parts = film.threeParts()
    let reports = Recorder()
    let load = film.load {
      $0.progress = { reports("\($0.received.completed)/\($0.received.total ?? -1)") }
    }
    for (part, text) in zip(parts, ["012", "45", "89ab"]) { await part.sendAndWait(text) }
    parts[0].send("3456")
    parts[1].send("67")
    for part in parts.dropFirst() { part.finish() }
    await parts[0].waitForCancel()
    parts[0].completeCancelled()
    let response = try await load.value

    expectEqual(reports.entries.dropLast(2), ["0/12", "3/12", "5/12", "9/12"])
    expectEqual(reports.entries.last, "12/12")
    #expect(response.request.progress == nil)
  }

  @Test("The tree shows each part by name")
  func tree() async throws {
    let parts = film.threeParts()
    let load = film.load()
    _ = await parts[2].loaded.outcome
    let tree = "\(load.tree())"

    for name in ["download in parts", "part 1 of 3", "part 2 of 3", "part 3 of 3"] { #expect(tree.contains(name)) }
    load.cancel()
    for part in parts {
      await part.waitForCancel()
      part.completeCancelled()
    }
    _ = await load.outcome
  }

  @Test(
    "Arguments that no download in parts can have fail the future",
    arguments: [
      (0, "number of parts is 0"), (17, "number of parts is 17"), (2, "method POST"), (3, "has a body"),
      (4, "range of its own"), (5, "range of its own"),
    ])
  func invalid(parts: Int, problem: String) async throws {
    let outcome = await film.load(parts: parts) { request in
      switch parts {
      case 2: request.method = .post
      case 3: request.body = .data(Data("x".utf8), contentType: "text/plain")
      case 4: try request.setHeader("Range", "bytes=1-")
      case 5: try request.setHeader("If-Range", PartedFilm.tag)
      default: break
      }
    }.outcome

    #expect(outcome.text.contains(problem))
    expectEqual(film.mock.requests.count, 0)
  }

  @Test("A file that cannot be created fails the future before a request is sent")
  func unwritable() async throws {
    let request = anyRequest("/film")
    let load = film.mock.download(request, to: film.folder.file("missing/film"), inParts: 2)

    await expectEqual(load.outcome.code, .unwritableBody)
    expectEqual(film.mock.requests.count, 0)
  }

  @Test("A file that the file system refuses fails the future, and all parts end")
  func refused() async throws {
    film.serve()
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: film.folder.url.path)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: film.folder.url.path) }
    guard access(film.folder.url.path, W_OK) != 0 else { return }  // The superuser may write.

    await expectEqual(film.load().outcome.code, .unwritableBody)
  }

  @Test("A resource that is longer than the limit is refused")
  func limit() async throws {
    film.serve()

    await expectEqual(film.load(maximumSize: 11).outcome.code, .bodyTooLarge)
    expectEqual(film.folder.names, [])
  }
}
