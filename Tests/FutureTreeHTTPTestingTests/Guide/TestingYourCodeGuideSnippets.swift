import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Testing your code*, word for word. `HTTPTestingGuideTests` compares the two.
@Suite("Guide: Testing your code", .onSockets, .timeLimit(.minutes(20)))
struct TestingYourCodeGuideSnippets {
  let print = Transcript()
  let mock = MockLoader()
  let clock = ManualClock()
  let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("http://example.com/feed")
  }

  // guide layer
  struct Stamp: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      var request = request
      do { try request.setHeader("X-Client", "Feed") } catch { return .failed(error) }
      return next.load(request)
    }
  }

  @Test("The layer sets its header field and forwards the response")
  func stamps() throws {
    let api = Stamp() --> mock
    mock.on("/feed" && .header("X-Client", "Feed"), .text("news"))

    let response = try #require(try api.load(request).outcomeIfCompleted?.get())

    #expect(try response.body == Data("news".utf8))
    try mock.verify()
  }
  // end

  @Test("Held answers")
  func held() {
    // guide held
    let confirms = mock.hold("/feed")
    let stops = mock.hold("/feed", whenCancelled: .complete)
    let ignores = mock.hold("/feed", whenCancelled: .ignore)
    let feeds = (1...3).map { _ in mock.load(request) }

    for feed in feeds { feed.cancel(reason: "the page was closed") }
    print(feeds.map(\.isCompleted))  // [false, true, false]
    print([confirms, stops, ignores].allSatisfy { $0.cancelRequest != nil })  // true; each was asked to cancel
    confirms.complete(.cancelled)
    ignores.answer(body: "all the same")
    print(feeds.compactMap { $0.outcomeIfCompleted?.ending } == [.cancelled, .cancelled, .succeeded])  // true
    // end

    #expect(print.lines == ["[false, true, false]", "true", "true"])
  }

  // guide retry
  @Test("The load succeeds at the third attempt, after growing delays")
  func retries() throws {
    mock.on("/feed", .fail(HTTPError(.connectionLost, "cut")).times(2), .text("news"))
    let feed = Future.retry(.exponential(attempts: 3, first: .seconds(1), random: { 1 }), clock: clock) { _ in
      mock.load(request)
    }

    clock.advance(by: .seconds(1))
    #expect(mock.requests.count == 2)
    clock.advance(by: .seconds(2))

    #expect(feed.outcomeIfCompleted?.ending == .succeeded)
    try mock.verify()
  }

  @Test("A cancellation request between two attempts prevents the next attempt")
  func retryIsCancelled() {
    mock.fail(HTTPError(.connectionLost, "cut"))
    let feed = Future.retry(.constant(attempts: 3, delay: .seconds(1)), clock: clock) { _ in mock.load(request) }

    feed.cancel(reason: "the page was closed")
    clock.advance(by: .seconds(60))

    #expect(feed.outcomeIfCompleted?.ending == .cancelled)
    #expect(mock.requests.count == 1 && clock.timerCount == 0)
  }
  // end

  @Test("A stream is cancelled, and ends when the transport has confirmed")
  func stream() async throws {
    // guide stream
    let feed = mock.stream("/feed")
    let response = try await mock.stream { request }.value  // The head has arrived.

    feed.send("news")
    response.transfer.cancel(reason: "the page was closed")
    print(response.transfer.isCompleted)  // false; the transport has not confirmed
    feed.completeCancelled()
    print(await response.transfer.outcome.ending)  // cancelled
    // end

    #expect(feed.cancelRequest?.reason.message == "the page was closed")
    #expect(print.lines == ["false", "cancelled"])
  }

  @Test("Events continue over a second connection")
  func events() async throws {
    // guide events
    let type = try HTTPHeaders(["Content-Type": "text/event-stream"])
    let lost = HTTPError(.connectionLost, "cut")
    mock.on("/prices", .chunks(["id: 7\ndata: 12\n\n", "data: 1"], headers: type, failure: lost), .status(.noContent))

    let prices = mock.events("http://example.com/prices", reconnecting: EventReconnection(delay: .zero))
    for try await event in prices { print(event.data) }  // 12
    print(mock.requests.map { $0.headers["Last-Event-ID"] ?? "none" })  // ["none", "7"]
    // end

    #expect(print.lines == ["12", "[\"none\", \"7\"]"])
    try mock.verify()
  }

  @Test("A body that is cut is resumed")
  func resumed() async throws {
    // guide resume
    let server = try LoopbackServer()
    let tag = ("ETag", #""v1""#)
    let rest = LoopbackAnswer.respond(status: 206, headers: [tag, ("Content-Range", "bytes 2-5/6")], body: "film")
    server.on("/film", .respond(headers: [tag], body: "a film").cut(at: 2), rest)

    let api = Resume(.immediately()) --> SystemLoader(.init(timeout: nil))
    let film = try await api.stream { try HTTPRequest(server.url("/film")) }.value
    var body = Data()
    for try await chunk in film.bodyStream { body += chunk }
    print(String(decoding: body, as: UTF8.self))  // a film
    print(server.requests.map { $0.values(for: "Range") })  // [[], ["bytes=2-"]]
    // end

    #expect(print.lines == ["a film", "[[], [\"bytes=2-\"]]"])
  }

  @Test("The lines of a log arrive, and then the cut")
  func cut() async throws {
    // guide cut
    let (server, gate) = (try LoopbackServer(), LoopbackGate())
    server.on("/log", .stream(["one\n", "two\n"]).held(at: 6, by: gate).cut(at: 6))

    let log = try await SystemLoader(.init(timeout: nil)).stream { try HTTPRequest(server.url("/log")) }.value
    do {
      for try await line in log.lines {
        print(line)  // one
        gate.open()
      }
    } catch {
      print("The log was cut.")
    }
    // end

    #expect(print.lines == ["one", "The log was cut."])
  }

  // guide points
  struct Slow: HTTPLayer {
    let clock: any FutureClock

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      Future.after(.seconds(1), clock: self.clock).flatMap { next.load(request) }
    }
  }

  enum Point: CaseIterable {
    case beforeTheStart, inTheLayer, atTheTransport, afterTheAnswer
  }

  @Test("A cancelled load ends at every point and goes no further", arguments: Point.allCases)
  func cancelled(at point: Point) {
    let held = mock.hold(whenCancelled: .complete)
    let task = (Slow(clock: clock) --> mock).task(for: request)
    if point != .beforeTheStart { task.start() }
    if point == .atTheTransport || point == .afterTheAnswer { clock.advance(by: .seconds(1)) }
    if point == .afterTheAnswer { held.answer(body: "news") }

    task.cancel(reason: "the page was closed")
    task.start()
    clock.advance(by: .seconds(60))

    #expect(task.future.outcomeIfCompleted?.ending == (point == .afterTheAnswer ? .succeeded : .cancelled))
    #expect(mock.requests.isEmpty == (point == .beforeTheStart || point == .inTheLayer))
    #expect((held.cancelRequest != nil) == (point == .atTheTransport))
    #expect(clock.timerCount == 0)
  }
  // end

  @Test("A stalled server")
  func server() async throws {
    // guide server
    let server = try LoopbackServer()
    server.on("/feed", .stall)

    let feed = SystemLoader(.init(timeout: nil)).load(try HTTPRequest(server.url("/feed")))
    _ = try await server.waitForRequest(to: "/feed").value
    feed.cancel(reason: "the page was closed")
    let record = try await server.waitForClose(of: "/feed").value

    print(record.abandonedPaths)  // ["/feed"]
    print(await feed.outcome.ending)  // cancelled
    // end

    #expect(print.lines == ["[\"/feed\"]", "cancelled"])
  }

  @Test("A server that is down")
  func down() async throws {
    // guide down
    let down = try RefusingPort()
    let api = ApplyEnvironment(down.environment) --> Retry(.immediately()) --> SystemLoader(.init(timeout: nil))

    do { _ = try await api.get("feed").value } catch let error as HTTPError {
      print(error.code)  // cannotConnect
      print(error.message.contains("127.0.0.1:\(down.port)"))  // true
    }
    // end

    #expect(print.lines == ["cannotConnect", "true"])
  }

  @Test("A gate")
  func gate() async throws {
    // guide gate
    let (server, gate) = (try LoopbackServer(), LoopbackGate())
    server.on("/feed", .text("news").held(by: gate))
    server.on("/flaky", .status(503), .reset, .text("at last"))  // One answer for each request. The last repeats.
    let loader = SystemLoader(.init(timeout: nil))

    let feed = loader.load(try HTTPRequest(server.url("/feed")))
    try await gate.waitForHolders().value
    print(feed.isCompleted)  // false; the server has received the request and holds its answer
    gate.open()
    print(String(decoding: try await feed.value.body, as: UTF8.self))  // news
    // end

    let flaky = try HTTPRequest(server.url("/flaky"))
    #expect(try await loader.load(flaky).value.status == .serviceUnavailable)
    #expect(print.lines == ["false", "news"])
  }

  @Test("Injected dates and randomness")
  func dates() {
    // guide chance
    let dates = clock.wallClock(origin: Date(timeIntervalSince1970: 0))
    var dice = RandomSource.seeded(7)
    var same = RandomSource.seeded(7)
    clock.advance(by: .seconds(60))

    print(dates.now.timeIntervalSince1970)  // 60.0
    print(Int.random(in: 1...6, using: &dice) == Int.random(in: 1...6, using: &same))  // true
    // end

    #expect(print.lines == ["60.0", "true"])
  }
}
