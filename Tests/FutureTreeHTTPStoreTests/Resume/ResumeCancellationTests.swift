import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: Resume, cancellation, time and resets") struct ResumeCancellationTests {
  /// A film whose strategy waits one second.
  private static func slowFilm(attempts: Int = 5) -> Film {
    Film(.constant(.seconds(1), attempts: attempts))
  }

  /// A position in the life of a resumed body.
  enum Position: CaseIterable, Sendable {
    case beforeHead, firstBody, pause, loadOfRest, rest
  }

  /// Brings a load to a position. Returns its response, and what can be asked to cancel.
  private func go(
    to position: Position, _ film: Film
  ) async throws -> (
    load: Future<HTTPResponse>, response: HTTPResponse?, asked: () -> CancelRequest?, confirm: () -> Void
  ) {
    guard position != .beforeHead else {
      let held = film.mock.hold("/film")
      return (try film.load(), nil, { held.cancelRequest }, { _ = held.complete(.cancelled) })
    }
    let first = film.whole()
    let load = try film.load()
    let response = try load.value(in: film)
    first.send("0123")
    guard position != .firstBody else {
      while !first.isAwaited { await Task.yield() }
      return (load, response, { first.cancelRequest }, { first.completeCancelled() })
    }
    let held = position == .loadOfRest ? film.mock.hold("/film") : nil
    let second = position == .rest ? film.part("4-9/10") : nil
    first.fail(lost)
    await film.waitForPause()
    guard position != .pause else { return (load, response, { nil }, {}) }
    film.clock.advance(by: .seconds(1))
    if let held {
      _ = await held.loaded.outcome
      return (load, response, { held.cancelRequest }, { _ = held.complete(.cancelled) })
    }
    let rest = try #require(second)
    await rest.sendNext("45")
    while !rest.isAwaited { await Task.yield() }
    return (load, response, { rest.cancelRequest }, { rest.completeCancelled() })
  }

  /// The cancellation request of what is in flight. A load of the rest that has just begun receives it a moment later.
  private func request(of asked: () -> CancelRequest?, at position: Position) async -> CancelRequest? {
    while position == .loadOfRest, asked() == nil { await Task.yield() }
    return asked()
  }

  @Test(
    "Cancelling the transfer cancels what is in flight, and completes when it has ended", arguments: Position.allCases)
  func cancelled(position: Position) async throws {
    let film = Self.slowFilm()
    let run = try await go(to: position, film)
    let transfer = run.response?.transfer ?? run.load.map { _ in }

    transfer.cancel(reason: "the page was closed")

    if position != .pause {
      await expectEqual(request(of: run.asked, at: position)?.reason.message, "the page was closed")
      #expect(!transfer.isCompleted)
    }
    run.confirm()
    await expectEqual(transfer.outcome.text, "cancelled")
    await film.waitForEnd()
    film.clock.advance(by: .seconds(600))
    expectEqual(film.mock.requests.count, position == .loadOfRest || position == .rest ? 2 : 1)
    expectEqual(film.clock.timerCount, 0)
    withExtendedLifetime(run) {}
  }

  /// Brings a load to a position, and drops its response. A release build drops a variable only at the end of its scope.
  private func drop(
    at position: Position, _ film: Film
  ) async throws -> (transfer: Future<Void>, asked: () -> CancelRequest?, confirm: () -> Void) {
    let run = try await go(to: position, film)
    let transfer = try #require(run.response?.transfer)
    #expect(run.asked() == nil)
    return withExtendedLifetime(run) { (transfer, run.asked, run.confirm) }
  }

  @Test("A stream that is dropped stops what is in flight", arguments: Position.allCases.dropFirst())
  func dropped(position: Position) async throws {
    let film = Self.slowFilm()
    let (transfer, asked, confirm) = try await drop(at: position, film)

    if position != .pause { await #expect(request(of: asked, at: position) != nil) }
    confirm()
    await expectEqual(transfer.outcome.text, "cancelled")
    await film.waitForEnd()
    expectEqual(film.clock.timerCount, 0)
  }

  @Test(
    "A forced transfer completes at once, and what is in flight is still asked",
    arguments: Position.allCases.dropFirst())
  func forced(position: Position) async throws {
    let film = Self.slowFilm()
    let run = try await go(to: position, film)

    run.response?.transfer.cancel(.forceImmediately)

    expectEqual(run.response?.transfer.text, "cancelled")
    if position != .pause { await #expect(request(of: run.asked, at: position) != nil) }
    run.confirm()
    await film.waitForEnd()
    expectEqual(film.clock.timerCount, 0)
    withExtendedLifetime(run) {}
  }

  @Test("A rest that arrives although it was cancelled is cancelled as well")
  func lateRest() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load().value(in: film)
    let held = film.mock.hold("/film")
    first.fail(lost)
    let request = try await held.loaded.value
    response.transfer.cancel()

    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: film.clock)
    let headers = try HTTPHeaders([("Content-Range", "bytes 0-9/10"), ("ETag", Film.tag)])
    held.complete(
      .completeUsing(
        .succeeded(HTTPResponse(to: request, status: HTTPStatus(206), headers: headers, content: .stream(stream)))))
    while writer.transfer.cancelRequest == nil { await Task.yield() }
    #expect(!response.transfer.isCompleted)
    writer.fail(lost)

    await expectEqual(response.transfer.outcome.text, "cancelled")
    await film.waitForEnd()
    withExtendedLifetime((response, stream)) {}
  }

  @Test("A reset ends the pauses, and prevents later ones")
  func reset() async throws {
    let film = Self.slowFilm()
    let waiting = try await go(to: .pause, film)
    let other = film.whole()
    let flowing = try film.load().value(in: film)
    var chunks = try #require(waiting.response).bodyStream.makeAsyncIterator()
    try await expectEqual(chunks.next(), Data("0123".utf8))
    // The reset of another transport: that of the mock would cancel its stream.
    await expectEqual((film.resume --> MockLoader()).reset().outcome.text, "success")

    await #expect(throws: FutureCancelled.self) { try await chunks.next() }
    expectEqual(waiting.response?.transfer.text, "cancelled")
    other.send("01")
    other.fail(lost)
    await expectEqual(flowing.text(), "01 connectionLost")
    await film.waitForEnd()
    expectEqual(film.clock.timerCount, 0)
  }

  @Test(
    "An Autocancel before the layer ends the body in every position, and waits for it", arguments: Position.allCases)
  func autocancelled(position: Position) async throws {
    let film = Film(.constant(.seconds(1)), after: Autocancel(drainTimeout: nil))
    let run = try await go(to: position, film)
    let reset = film.api.reset()

    #expect(position == .pause || !reset.isCompleted)
    run.confirm()
    await expectEqual(reset.outcome.text, "success")
    if position != .beforeHead { await film.waitForEnd() }
    withExtendedLifetime(run) {}
  }

  @Test("After four consecutive requests without a byte, the last failure ends the body")
  func attempts() async throws {
    let film = Self.slowFilm()
    let first = film.whole()
    film.mock.on("/film", .fail(lost).times(3), .respond(status: .serviceUnavailable))
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)
    for count in 1...4 {
      while film.mock.requests.count < count { await Task.yield() }
      await film.waitForPause()
      film.clock.advance(by: .seconds(1))
      while film.mock.requests.count == count { await Task.yield() }
    }

    await expectEqual(response.text(), "0123 unacceptableStatus")
    expectEqual(film.mock.requests.count, 5)
  }

  @Test("The delay is the one that the server asks for, unless it is too long", arguments: ["5", "121"])
  func retryAfter(seconds: String) async throws {
    let film = Film()
    let first = film.whole()
    let busy = try HTTPHeaders([("Retry-After", seconds)])
    film.mock.on("/film", .respond(status: .serviceUnavailable, headers: busy))
    let response = try film.load(.stream(idleReadTimeout: nil)).value(in: film)
    let second = seconds == "5" ? film.part("4-9/10") : nil
    first.send("0123")
    first.fail(lost)
    if let second {
      await film.waitForPause()
      film.clock.advance(by: .seconds(5))
      await second.sendNext("456789")
      second.finish()
    }

    await expectEqual(response.text(), second == nil ? "0123 unacceptableStatus" : "0123456789")
  }

  @Test("A deadline that the next attempt cannot meet ends the body")
  func deadline() async throws {
    let film = Self.slowFilm()
    let first = film.whole()
    let response = try film.load { $0.deadline = .after(.seconds(1), clock: film.clock) }
      .value(in: film)
    first.send("0123")
    first.fail(lost)

    await expectEqual(response.text(), "0123 deadlineExceeded")
  }

  @Test("A stream that overflows continues when its reader has caught up")
  func overflow() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.part("6-9/10"))
    let response = try film.load(.stream(bufferLimit: 4)).value(in: film)
    while !first.isAwaited { await Task.yield() }
    first.send("01")
    while response.bodySize < 2 { await Task.yield() }
    // The layer waits for room, so that the buffer of the transport fills.
    #expect(first.send("2345"))
    #expect(!first.send("6"))
    #expect(first.cancelRequest == nil)
    let text = Future.task { await response.text() }
    await second.sendNext("67")
    while response.bodySize < 8 { await Task.yield() }
    second.send("89")
    second.finish()

    try await expectEqual(text.value, "0123456789")
  }

  @Test("After an idle time limit ends a silent connection, the layer requests the rest")
  func idle() async throws {
    let clock = ManualClock()
    let film = Film(before: Timeout(idle: .seconds(30), clock: clock))
    let (first, second) = (film.whole(), film.part("4-9/10"))
    let response = try film.load().value(in: film)
    first.send("0123")
    while !first.isAwaited { await Task.yield() }
    clock.advance(by: .seconds(30))
    first.completeCancelled()
    await second.sendNext("456789")
    second.finish()

    await expectEqual(response.text(), "0123456789")
  }
}
