import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Downloads in parts: cancellation") struct DownloadInPartsCancellationTests {
  private let film: PartedFilm

  init() throws {
    film = try PartedFilm()
  }

  /// A position in the life of a download.
  enum Position: CaseIterable, Sendable {
    case beforeHead, beforePartHeads, duringParts, pause, surplus, whole
  }

  /// Brings a download to a position. Returns what is in flight: whether it was asked to cancel, and its confirmation.
  private func go(
    to position: Position
  ) async throws -> (load: Future<HTTPResponse>, inFlight: [(isAsked: () -> Bool, confirm: () -> Void)]) {
    func inFlight(_ streams: [HeldStream]) -> [(isAsked: () -> Bool, confirm: () -> Void)] {
      streams.map { stream in ({ stream.cancelRequest != nil }, { stream.completeCancelled() }) }
    }
    func inFlight(_ held: [HeldAnswer]) -> [(isAsked: () -> Bool, confirm: () -> Void)] {
      held.map { held in ({ held.cancelRequest != nil }, { held.complete(.cancelled) }) }
    }
    switch position {
    case .beforeHead:
      let held = film.mock.hold("/film")
      return (film.load(), inFlight([held]))
    case .beforePartHeads:
      let first = film.part("0-", "0-11/12")
      let held = ["4-7", "8-11"].map { film.mock.hold(.header("Range", "bytes=\($0)")) }
      let load = film.load()
      await first.sendAndWait("01")
      for held in held { _ = await held.loaded.outcome }
      return (load, inFlight([first]) + inFlight(held))
    case .duringParts, .pause:
      let parts = film.threeParts()
      let load = film.load(.constant(.seconds(1)))
      for (part, text) in zip(parts, ["01", "45", "89"]) { await part.sendAndWait(text) }
      guard position == .pause else { return (load, inFlight(parts)) }
      parts[1].fail(lost)
      while film.clock.timerCount == 0 { await Task.yield() }
      return (load, inFlight([parts[0], parts[2]]))
    case .surplus:
      let parts = film.threeParts()
      let load = film.load()
      for (part, text) in zip(parts, ["012345", "4567", "89ab"]) { await part.sendNext(text) }
      await parts[0].waitForCancel()
      for part in parts.dropFirst() { part.finish() }
      return (load, inFlight([parts[0]]))
    case .whole:
      let first = film.part("0-", "0-11/*")
      let whole = film.whole()
      let load = film.load()
      await first.waitForCancel()
      first.completeCancelled()
      await whole.sendAndWait("012345")
      return (load, inFlight([whole]))
    }
  }

  /// Waits until all that is in flight was asked to cancel.
  private func waitForRequests(_ inFlight: [(isAsked: () -> Bool, confirm: () -> Void)]) async {
    for load in inFlight { while !load.isAsked() { await Task.yield() } }
  }

  @Test(
    "Cancelling the future cancels what is in flight, and completes when all of it has ended",
    arguments: Position.allCases)
  func cancelled(position: Position) async throws {
    let (load, inFlight) = try await go(to: position)
    let count = film.mock.requests.count
    load.cancel(reason: "the page was closed")
    await waitForRequests(inFlight)
    for held in inFlight {
      for _ in 1...100 { await Task.yield() }
      #expect(!load.isCompleted)
      held.confirm()
    }

    guard case .cancelled(let reason) = await load.outcome else {
      Issue.record("\(load)")
      return
    }
    expectEqual(reason.message, "the page was closed")
    expectEqual(film.folder.names, [])
    expectEqual(film.mock.requests.count, count)
    expectEqual(film.clock.timerCount, 0)
  }

  @Test(
    "A forced cancellation completes at once without a file, and what is in flight is still asked",
    arguments: Position.allCases)
  func forced(position: Position) async throws {
    let (load, inFlight) = try await go(to: position)
    load.cancel(.forceImmediately)

    expectEqual(load.text, "cancelled")
    expectEqual(film.folder.names, [])
    await waitForRequests(inFlight)
    for held in inFlight { held.confirm() }
    for _ in 1...1_000 { await Task.yield() }
    expectEqual(film.folder.names, [])
    expectEqual(film.clock.timerCount, 0)
  }

  @Test("A cancellation of this future only leaves no file, and the parts end at their next bytes")
  func notForwarded() async throws {
    let parts = film.threeParts()
    let load = film.load()
    for (part, text) in zip(parts, ["01", "45", "89"]) { await part.sendAndWait(text) }
    load.cancel(.doNotForwardRequest)
    expectEqual(load.text, "cancelled")
    expectEqual(film.folder.names, [])
    parts[1].send("67")
    for part in [parts[1], parts[0], parts[2]] {
      await part.waitForCancel()
      part.completeCancelled()
    }

    expectEqual(film.folder.names, [])
  }

  @Test("A head that arrives after the cancellation request is cancelled, and no part is requested")
  func lateHead() async throws {
    let held = film.mock.hold("/film", whenCancelled: .continue)
    let load = film.load()
    load.cancel()
    let (stream, writer) = HTTPBodyStream.makeStream(for: anyRequest())
    let headers = received([("Content-Range", "bytes 0-11/12"), ("ETag", PartedFilm.tag)])
    _ = held.complete(
      .success(
        HTTPResponse(to: anyRequest("/film"), status: HTTPStatus(206), headers: headers, content: .stream(stream))))
    while writer.transfer.cancelRequest == nil { await Task.yield() }
    #expect(!load.isCompleted)
    writer.fail(FutureCancelled(reason: "the transport has stopped"))

    await expectEqual(load.outcome.text, "cancelled")
    expectEqual(film.mock.requests.count, 1)
    expectEqual(film.folder.names, [])
  }

  @Test("A download whose future is dropped completes the file")
  func dropped() async throws {
    let parts = film.threeParts()
    film.load()
    for (part, text) in zip(parts, ["01234", "4567", "89ab"]) { await part.sendNext(text) }
    for part in parts.dropFirst() { part.finish() }
    await parts[0].waitForCancel()
    parts[0].completeCancelled()
    while film.folder.names != ["film"] { await Task.yield() }

    expectEqual(film.text, PartedFilm.text)
  }

  @Test("A part that a reset cancels cancels the download")
  func reset() async throws {
    let parts = film.threeParts()
    let api = Autocancel(drainTimeout: nil) --> film.mock
    let load = api.download(anyRequest("/film"), to: film.folder.file("film"), inParts: 3, minimumPartSize: 1)
    for (part, text) in zip(parts, ["01", "45", "89"]) { await part.sendAndWait(text) }
    let reset = api.reset()
    for part in parts {
      await part.waitForCancel()
      part.completeCancelled()
    }

    await expectEqual(reset.outcome.text, "success")
    await expectEqual(load.outcome.text, "cancelled")
    expectEqual(film.folder.names, [])
  }

  @Test("A pause lasts as long as the strategy says, and the other parts go on")
  func pause() async throws {
    let parts = film.threeParts()
    let load = film.load(.constant(.seconds(5)))
    await parts[1].sendNext("45")
    parts[1].fail(lost)
    while film.clock.timerCount == 0 { await Task.yield() }
    let rest = film.part("6-7", "6-7/12")
    await parts[2].sendNext("89ab")
    parts[2].finish()
    film.clock.advance(by: .seconds(5))
    await rest.sendNext("67")
    rest.finish()
    await parts[0].sendNext("01234")
    await parts[0].waitForCancel()
    parts[0].completeCancelled()
    _ = try await load.value

    expectEqual(film.text, PartedFilm.text)
  }
}
