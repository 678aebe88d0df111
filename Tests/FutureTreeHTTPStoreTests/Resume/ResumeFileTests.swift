import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// Loads of a film to a file, each by new layers, as in another run of the program.
struct FilmFile {
  let folder: Folder
  /// Resumes nothing without a new load, unless a test sets it.
  var strategy = RetryStrategy.immediately(attempts: 1)

  init() throws {
    folder = try Folder()
  }

  var directory: URL { folder.file("partial") }

  /// The names of the files in the directory, without the digest of the URL.
  var kept: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return names.map { String($0.drop { $0 != "." }) }.sorted()
  }

  func newRun(before end: (any HTTPLayer)? = nil) -> Film { Film(strategy, directory: directory, before: end) }

  func load(
    in film: Film, maximumSize: Int? = nil, configure: (inout HTTPRequest) throws -> Void = { _ in }
  ) throws -> Future<HTTPResponse> {
    try film.load(.file(folder.file("film"), maximumSize: maximumSize), configure: configure)
  }

  /// Makes a run that receives text, and fails.
  func loseConnection(after text: String, tag: String? = Film.tag) async throws {
    let film = newRun()
    let stream = film.whole(tag: tag)
    let load = try load(in: film)
    await stream.sendNext(text)
    stream.fail(lost)
    await expectEqual(load.outcome.code, .connectionLost)
    await film.waitForEnd()
  }
}

@Suite("Layers: Resume, files of an earlier run") struct ResumeFileTests {
  private let file: FilmFile

  init() throws {
    file = try FilmFile()
  }

  private var text: String? { file.folder.text(of: "film") }

  @Test("A load continues the file of an earlier run, and its response is that of a single load")
  func continues() async throws {
    try await file.loseConnection(after: "0123")
    #expect(text == nil)
    expectEqual(file.kept, [".json", ".partial"])

    let film = file.newRun()
    let part = film.part("3-9/10")
    let load = try file.load(in: film)
    await part.sendNext("3456")
    part.send("789")
    part.finish()
    let response = try await load.value

    expectEqual(text, "0123456789")
    expectEqual(response.status, .ok)
    expectEqual(response.content.description, "10 bytes in a file")
    expectEqual(response.headers["Content-Length"], "10")
    #expect(response.headers["Content-Range"] == nil)
    expectEqual(film.ranges, ["bytes=3-"])
    expectEqual(film.mock.requests.map { $0.headers["If-Range"] }, [Film.tag])
    expectEqual(file.kept, [])
  }

  @Test("A load that ended before its file was moved receives one byte")
  func complete() async throws {
    try await file.loseConnection(after: "012345678")
    let record = try #require(try FileManager.default.contentsOfDirectory(atPath: file.directory.path).first)
    let partial = file.directory.appendingPathComponent(String(record.prefix { $0 != "." }) + ".partial")
    try Data("0123456789".utf8).write(to: partial)

    let film = file.newRun()
    let part = film.part("9-9/10")
    let load = try file.load(in: film)
    await part.sendNext("9")
    part.finish()

    try await expectEqual(load.value.status, .ok)
    expectEqual(text, "0123456789")
  }

  @Test("A load that fails is continued in the same run, as the strategy allows")
  func sameRun() async throws {
    var file = file
    file.strategy = .immediately(attempts: 5)
    let film = file.newRun()
    let (whole, part) = (film.whole(), film.part("4-9/10"))
    let load = try file.load(in: film)
    await whole.sendNext("0123")
    whole.fail(lost)
    await part.sendNext("456789")
    part.finish()

    try await expectEqual(load.value.bodySize, 10)
    expectEqual(text, "0123456789")
    expectEqual(film.ranges, ["-", "bytes=4-"])
  }

  @Test("A cancelled load leaves its bytes to a later run")
  func cancelled() async throws {
    let film = file.newRun()
    let whole = film.whole()
    let load = try file.load(in: film)
    await whole.sendNext("0123")
    while !whole.isAwaited { await Task.yield() }
    load.cancel(reason: "the program quits")
    while whole.cancelRequest == nil { await Task.yield() }
    for _ in 1...1_000 { await Task.yield() }
    #expect(!load.isCompleted)
    whole.completeCancelled()

    await expectEqual(load.outcome.text, "cancelled")
    expectEqual(file.kept, [".json", ".partial"])
    #expect(text == nil)
  }

  @Test("A load that is cancelled by force is wound down, and leaves its bytes to a later run")
  func forced() async throws {
    let film = file.newRun()
    let whole = film.whole()
    let load = try file.load(in: film)
    await whole.sendNext("0123")
    while !whole.isAwaited { await Task.yield() }
    load.cancel(.forceImmediately)
    expectEqual(load.text, "cancelled")
    while whole.cancelRequest == nil { await Task.yield() }
    whole.completeCancelled()
    #expect(try await (film.resume --> film.mock).reset().outcome.get() == ())

    expectEqual(file.kept, [])
  }

  @Test("A resource that has changed replaces the bytes")
  func changed() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let whole = film.whole(tag: "\"v2\"")
    let load = try file.load(in: film)
    await whole.sendNext("abcde")
    whole.fail(lost)
    _ = await load.outcome

    let last = file.newRun()
    let part = last.part("4-9/10", tag: "\"v2\"")
    let end = try file.load(in: last)
    await part.sendNext("efghij")
    part.finish()
    _ = try await end.value

    expectEqual(text, "abcdefghij")
    expectEqual(last.mock.requests.map { $0.headers["If-Range"] }, ["\"v2\""])
  }

  @Test(
    "A response that does not continue the file is cancelled, and the load begins again",
    arguments: [("3-9/10", "\"v2\""), ("4-9/10", Film.tag), ("3-9/11", Film.tag), ("3-12/10", Film.tag)])
  func contradiction(range: String, tag: String) async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let (part, whole) = (film.part(range, tag: tag), film.whole(tag: "\"v2\""))
    let load = try file.load(in: film)
    while part.cancelRequest == nil { await Task.yield() }
    expectEqual(part.cancelRequest?.reason.message, "the response does not continue the file")
    part.completeCancelled()
    await whole.sendNext("abcdefghij")
    whole.finish()
    _ = try await load.value

    expectEqual(text, "abcdefghij")
    expectEqual(film.ranges, ["bytes=3-", "-"])
  }

  @Test("The file of another origin is not continued")
  func otherOrigin() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun(before: Redirect())
    let headers = try HTTPHeaders([("Location", "http://other.example.com/copy")])
    film.mock.on("/film", .respond(status: HTTPStatus(302), headers: headers))
    film.mock.on("/film", .respond(headers: try HTTPHeaders([("ETag", Film.tag)]), body: Data("abcdefghij".utf8)))
    let part = film.mock.stream(
      "/copy", status: HTTPStatus(206), headers: try HTTPHeaders([("Content-Range", "bytes 3-9/10")]))
    let load = try file.load(in: film)
    while part.cancelRequest == nil { await Task.yield() }
    part.completeCancelled()
    _ = try await load.value

    expectEqual(text, "abcdefghij")
  }

  @Test("A range that cannot be satisfied begins the load again")
  func unsatisfiable() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    film.mock.on("/film", .respond(status: HTTPStatus(416), headers: try HTTPHeaders([("Content-Range", "bytes */2")])))
    let whole = film.whole([("Content-Length", "2")], tag: "\"v2\"")
    let load = try file.load(in: film)
    await whole.sendNext("ab")
    whole.finish()
    _ = try await load.value

    expectEqual(text, "ab")
  }

  @Test("An unsuccessful response is passed on, and the bytes are kept", arguments: [401, 404, 503])
  func unsuccessful(status: Int) async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    film.mock.on("/film", .respond(status: HTTPStatus(status)))

    try await expectEqual(file.load(in: film).value.status.code, status)
    expectEqual(file.kept, [".json", ".partial"])
    #expect(text == nil)
  }

  @Test("Bytes without a strong validator are not kept", arguments: [nil, "W/\"v1\""])
  func weak(tag: String?) async throws {
    try await file.loseConnection(after: "0123", tag: tag)

    expectEqual(file.kept, [])
  }

  @Test("Bytes are not kept after a failure that a later load would repeat")
  func permanent() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let part = film.part("3-9/10")
    let load = try file.load(in: film)
    await part.sendNext("3456789more")
    while part.cancelRequest == nil { await Task.yield() }
    part.completeCancelled()

    await expectEqual(load.outcome.code, .invalidResponse)
    expectEqual(file.kept, [])
    #expect(text == nil)
  }

  @Test("A body that arrives too fast and cannot be resumed is written by the transport")
  func overflow() async throws {
    let film = file.newRun()
    let whole = film.whole(tag: nil)
    let load = try file.load(in: film)
    await whole.sendNext("0123")
    film.mock.on("/film", .text("0123456789"))
    whole.fail(HTTPError(.streamOverflow, "The buffer is full. Read faster."))

    try await expectEqual(load.value.bodySize, 10)
    expectEqual(text, "0123456789")
    expectEqual(file.kept, [])
    expectEqual(film.mock.requests.map { "\($0.delivery)" }, ["as a stream", "in a file"])
  }

  @Test("The size limit and the progress count the bytes of all runs")
  func limitAndProgress() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let part = film.part("3-9/10")
    let reports = Recorder()
    let load = try file.load(in: film, maximumSize: 12) {
      $0.progress = { reports("\($0.received.completed)/\($0.received.total ?? -1)") }
    }
    await part.sendNext("3456789")
    part.finish()
    _ = try await load.value

    expectEqual(reports.entries, ["3/10", "10/10"])
    expectEqual(film.mock.requests.map { "\($0.delivery)" }, ["as a stream, at most 12 bytes"])
  }
}
