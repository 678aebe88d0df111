import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Downloads in parts: one part, and other representations") struct DownloadInPartsFaultTests {
  private let film: PartedFilm

  init() throws {
    film = try PartedFilm()
  }

  @Test("The response of a server that ignores the range is the download")
  func ignored() async throws {
    let whole = film.whole()
    let load = film.load()
    await whole.sendNext(PartedFilm.text)
    whole.finish()

    try await expectEqual(load.value.bodySize, 12)
    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.ranges, ["bytes=0-"])
  }

  @Test("A response without a strong validator that has all bytes is the download", arguments: [nil, "W/\"v1\""])
  func weak(tag: String?) async throws {
    let date = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    let first = film.part("0-", "0-11/12", tag: tag, [date])
    let load = film.load()
    await first.sendNext(PartedFilm.text)
    first.finish()

    try await expectEqual(load.value.status, .ok)
    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.ranges, ["bytes=0-"])
  }

  @Test("A part without a strong validator is not repeated")
  func weakFailure() async throws {
    let first = film.part("0-", "0-11/12", tag: nil)
    let load = film.load()
    await first.sendNext("0123")
    first.fail(lost)

    await expectEqual(load.outcome.code, .connectionLost)
    expectEqual(film.folder.names, [])
  }

  @Test(
    "A response that cannot be divided is cancelled, and the resource is loaded without a range after its end",
    arguments: [
      ("0-11/*", PartedFilm.tag, []), ("0-5/12", "W/\"v1\"", []), ("1-11/12", PartedFilm.tag, []),
      ("0-11/12", PartedFilm.tag, [("Content-Encoding", "gzip")]), ("0-11", PartedFilm.tag, []),
    ] as [(String, String, [(String, String)])])
  func undivided(sent: String, tag: String, fields: [(String, String)]) async throws {
    let (first, whole) = (film.part("0-", sent, tag: tag, fields), film.whole())
    let load = film.load()
    await first.waitForCancel()
    for _ in 1...1_000 { await Task.yield() }
    expectEqual(film.ranges, ["bytes=0-"])
    first.completeCancelled()
    await whole.sendNext(PartedFilm.text)
    whole.finish()
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
    expectEqual(film.ranges, ["-", "bytes=0-"])
  }

  @Test("An empty resource, whose range is refused, is an empty file")
  func empty() async throws {
    film.mock.on(
      "/film", .respond(status: HTTPStatus(416), headers: received([("Content-Range", "bytes */0")])),
      .respond(headers: received([("ETag", PartedFilm.tag), ("Content-Length", "0")])))

    try await expectEqual(film.load().value.bodySize, 0)
    expectEqual(film.text, "")
    expectEqual(film.ranges, ["-", "bytes=0-"])
  }

  @Test("An unsuccessful response fails the future", arguments: [204, 304, 404, 412, 503])
  func unsuccessful(status: Int) async throws {
    film.mock.on("/film", .respond(status: HTTPStatus(status)))
    let outcome = await film.load().outcome

    expectEqual(outcome.code, .unacceptableStatus)
    expectEqual(film.folder.names, [])
  }

  @Test("A range that was not requested is refused")
  func unrequested() async throws {
    let whole = film.mock.stream(
      "/film", status: HTTPStatus(206), headers: received([("Content-Range", "bytes 0-3/12"), ("ETag", "\"v1\"")]))
    let load = film.load(parts: 1)
    await whole.waitForCancel()
    whole.completeCancelled()

    await expectEqual(load.outcome.code, .invalidResponse)
  }

  /// How a server answers the second part of a film that has changed.
  enum Change: CaseIterable, Sendable {
    case whole, sameWhole, tag, noTag, length, precondition, range, otherOrigin
  }

  /// Begins a download of three parts, and waits until they are requested. Then answers the second part.
  private func load(_ change: Change) async throws -> (load: Future<HTTPResponse>, others: [HeldStream]) {
    let (first, third) = (film.part("0-", "0-11/12"), film.part("8-11", "8-11/12"))
    let second = film.mock.hold(.header("Range", "bytes=4-7"))
    let load = (Redirect() --> film.mock).download(
      anyRequest("/film"), to: film.folder.file("film"), inParts: 3, minimumPartSize: 1,
      retrying: .immediately(attempts: 3), clock: film.clock)
    await first.sendNext("01")
    await third.sendNext("89ab")
    _ = await second.loaded.outcome
    func answer(_ status: Int, _ range: String = "4-7/12", tag: String? = PartedFilm.tag) {
      let fields = [("Content-Range", "bytes \(range)")] + (tag.map { [("ETag", $0)] } ?? [])
      second.answer(status: HTTPStatus(status), headers: received(fields), body: "4567")
    }
    switch change {
    case .whole: answer(200, tag: "\"v2\"")
    case .sameWhole: answer(200)
    case .tag: answer(206, tag: "\"v2\"")
    case .noTag: answer(206, tag: nil)
    case .length: answer(206, "4-7/13")
    case .precondition: answer(412)
    case .range: answer(416, "*/3")
    case .otherOrigin:
      let part = received([("Content-Range", "bytes 4-7/12"), ("ETag", PartedFilm.tag)])
      film.mock.on("/copy", .respond(status: HTTPStatus(206), headers: part, body: Data("4567".utf8)))
      let elsewhere = received([("Location", "http://other.example.com/copy")])
      second.answer(status: HTTPStatus(302), headers: elsewhere, body: "")
    }
    for part in [first, third] { await part.waitForCancel() }
    return (load, [first, third])
  }

  @Test(
    "If a part belongs to another representation, the parts end, and the resource is loaded in one part",
    arguments: Change.allCases)
  func changed(change: Change) async throws {
    let (load, others) = try await load(change)
    for _ in 1...1_000 { await Task.yield() }
    expectEqual(film.ranges.filter { $0 == "-" }, [])
    let whole = film.whole(tag: "\"v2\"")
    for part in others { part.completeCancelled() }
    await whole.sendNext("ABCDEFGHIJKL")
    whole.finish()
    _ = try await load.value

    expectEqual(film.text, "ABCDEFGHIJKL")
    expectEqual(film.folder.names, ["film"])
    expectEqual(film.ranges.first, "-")
  }

  @Test("The file of a shorter representation has no bytes of the one before")
  func shorter() async throws {
    let (load, others) = try await load(.tag)
    let whole = film.mock.stream("/film", headers: received([("ETag", "\"v2\""), ("Content-Length", "2")]))
    for part in others { part.completeCancelled() }
    await whole.sendNext("AB")
    whole.finish()
    _ = try await load.value

    expectEqual(film.text, "AB")
  }

  @Test("A download that has started over fails if the representation changes again")
  func changedAgain() async throws {
    _ = try film.folder.write("old", to: "film")
    let (load, others) = try await load(.tag)
    let rest = film.part("6-", "6-11/12", tag: "\"v3\"")
    let whole = film.whole(tag: "\"v2\"")
    for part in others { part.completeCancelled() }
    await whole.sendNext("ABCDEF")
    whole.fail(lost)
    await rest.waitForCancel()
    rest.completeCancelled()

    await expectEqual(load.outcome.code, .representationChanged)
    expectEqual(film.text, "old")
    expectEqual(film.folder.names, ["film"])
  }
}
