import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: Resume, limits and faults") struct ResumeFaultTests {
  @Test("A whole body that replaces the rest may have all bytes of the limit")
  func wholeWithinLimit() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.whole())
    let response = try film.load(.stream(maximumSize: 10)).value(in: film)
    first.send("012345")
    first.fail(lost)
    await second.sendNext("0123456789")
    second.finish()

    await expectEqual(response.text(), "0123456789")
    expectEqual(film.mock.requests.map { $0.delivery.maximumSize }, [10, 10])
  }

  @Test(
    "A rest with too many bytes is an error, however it is split", arguments: ["456789X", "456789/X", "4/567/89/X"])
  func tooLong(chunks: String) async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.part("4-9/10"))
    let response = try film.load().value(in: film)
    let text = Future.task { await response.text() }
    first.send("0123")
    first.fail(lost)
    var pieces = chunks.split(separator: "/").map(String.init)[...]
    await second.sendNext(pieces.removeFirst())
    for piece in pieces { second.send(piece) }

    #expect(try await text.value.hasSuffix(" invalidResponse"))
    second.completeCancelled()
    await film.waitForEnd()
  }

  @Test("A first transfer with too many bytes is an error")
  func tooLongAtFirst() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load().value(in: film)
    first.send("0123456789")
    first.fail(HTTPError(.ambiguousBody, "The body has more bytes than it declares. Fix the server."))

    await expectEqual(response.text(), "0123456789 ambiguousBody")
  }

  @Test("A failure after the last byte does not fail the body")
  func lostAtTheEnd() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load().value(in: film)
    first.send("0123456789")
    first.fail(lost)

    await expectEqual(response.text(), "0123456789")
  }

  @Test("A chunk that is larger than the buffer does not overflow it")
  func largeChunk() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load(.stream(bufferLimit: 4)).value(in: film)
    while !first.isAwaited { await Task.yield() }
    first.send("0123456")
    let text = Future.task { await response.text() }
    await first.sendNext("789")
    first.finish()

    try await expectEqual(text.value, "0123456789")
  }

  @Test("After a cancellation request, no load begins, although bytes of a failed transfer remain")
  func noLoadAfterCancel() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load(.stream(bufferLimit: 2)).value(in: film)
    while !first.isAwaited { await Task.yield() }
    first.send("01")  // The layer waits for room.
    while response.bodySize < 2 { await Task.yield() }
    first.send("2")
    first.fail(lost)
    response.transfer.cancel()

    await expectEqual(response.transfer.outcome.text, "cancelled")
    await film.waitForEnd()
    expectEqual(film.mock.requests.count, 1)
  }

  @Test("A file of a request that has only a path is refused, because other hosts have the same path")
  func onlyPath() async throws {
    let file = try FilmFile()
    let film = file.newRun()
    var request = try HTTPRequest(.get, path: "film")
    request.delivery = .file(file.folder.file("film"))

    let outcome = await film.api.load(request).outcome

    expectEqual(outcome.code, .missingHost)
    #expect(film.mock.requests.isEmpty)
    expectEqual(file.kept, [])
  }

  @Test("A file that has changed to a larger one within the limit is loaded again")
  func largerFile() async throws {
    let file = try FilmFile()
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let whole = film.whole(tag: "\"v2\"")
    let load = try file.load(in: film, maximumSize: 10)
    await whole.sendNext("abcdefghij")
    whole.finish()

    try await expectEqual(load.value.bodySize, 10)
    expectEqual(file.folder.text(of: "film"), "abcdefghij")
  }

  @Test("A resource that changes while it is received fails the load, and its bytes are not kept")
  func changedMeanwhile() async throws {
    var file = try FilmFile()
    file.strategy = .immediately(attempts: 2)
    let film = file.newRun()
    let (first, second) = (film.whole(), film.whole(tag: "\"v2\""))
    let load = try file.load(in: film)
    await first.sendNext("0123")
    first.fail(HTTPError(.connectionLost, "The connection was closed. Load again."))
    _ = await second.loaded.outcome
    second.completeCancelled()

    await expectEqual(load.outcome.code, .representationChanged)
    expectEqual(file.kept, [])
  }

  @Test("A task that was cancelled while a response did not fit sends no second request")
  func cancelledBeforeSecondLoad() async throws {
    let file = try FilmFile()
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let held = film.mock.hold("/film", whenCancelled: .ignore)
    let load = try file.load(in: film)
    _ = await held.loaded.outcome
    load.cancel()
    held.answer(status: HTTPStatus(416))

    await expectEqual(load.outcome.ending, .cancelled)
    await film.waitForEnd()
    expectEqual(film.mock.requests.count, 1)
    expectEqual(file.kept, [".json", ".partial"])
  }
}
