import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// A film of ten bytes behind a `Resume`. The test sends its parts.
struct Film {
  static let tag = "\"v1\""

  let mock = MockLoader()
  let clock = ManualClock()
  let resume: Resume
  let api: any HTTPLoader

  init(
    _ strategy: RetryStrategy = .immediately(attempts: 5), directory: URL? = nil, after layer: (any HTTPLayer)? = nil,
    before end: (any HTTPLayer)? = nil
  ) {
    let resume = Resume(strategy, directory: directory, clock: clock, random: .seeded(1))
    self.resume = resume
    var chained: any HTTPLoader = mock
    for layer in [end, resume, layer].compactMap(\.self) { chained = chain(layer, before: chained) }
    api = chained
  }

  /// Expects a load, whose response is the whole film.
  func whole(_ fields: [(String, String)] = [("Content-Length", "10")], tag: String? = Film.tag) -> HeldStream {
    mock.stream("/film", headers: try! HTTPHeaders(NameValuePairs(fields + (tag.map { [("ETag", $0)] } ?? []))))
  }

  /// Expects a load, whose response is a part of the film.
  func part(_ range: String, tag: String = Film.tag) -> HeldStream {
    let fields = [("Content-Range", "bytes \(range)"), ("ETag", tag)]
    return mock.stream("/film", status: HTTPStatus(206), headers: try! HTTPHeaders(NameValuePairs(fields)))
  }

  func load(
    _ delivery: ResponseDelivery = .stream(), configure: (inout HTTPRequest) throws -> Void = { _ in }
  ) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest("http://example.com/film")
    request.delivery = delivery
    try configure(&request)
    return api.load(request)
  }

  /// The headers `Range` of all requests. `-` means that it is missing.
  var ranges: [String] { mock.requests.map { $0.headers["Range"] ?? "-" } }

  func waitForPause() async {
    while resume.waitingCount == 0 { await Task.yield() }
  }

  func waitForEnd() async {
    while resume.liveCount > 0 { await Task.yield() }
  }
}

extension HeldStream {
  /// Waits for the load, and sends text.
  func sendNext(_ text: String) async {
    _ = await loaded.outcome
    send(text)
  }
}

extension HTTPResponse {
  /// The text of the body, and after it the code of the error, if any.
  func text() async -> String {
    var text = ""
    do {
      for try await chunk in bodyStream { text += String(decoding: chunk, as: UTF8.self) }
      return text
    } catch {
      let error: any Error = error
      return "\(text) \((error as? HTTPError)?.code.description ?? "\(type(of: error))")"
    }
  }
}

/// The error of a transfer whose connection was closed.
let lost = HTTPError(.connectionLost, "The connection was closed. Load again.")

@Suite("Layers: Resume") struct ResumeTests {
  @Test("A body that is cut continues with the next byte, and is one body")
  func resumes() async throws {
    let film = Film()
    let (first, second, third) = (film.whole(), film.part("4-9/10"), film.part("7-9/10"))
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)
    await second.sendNext("456")
    second.fail(lost)
    await third.sendNext("789")
    third.finish()

    await expectEqual(response.text(), "0123456789")
    await expectEqual(response.transfer.outcome.text, "success")
    expectEqual(film.ranges, ["-", "bytes=4-", "bytes=7-"])
    expectEqual(film.mock.requests.map { $0.headers["If-Range"] }, [nil, Film.tag, Film.tag])
    expectEqual(response.status, .ok)
    await film.waitForEnd()
  }

  @Test("A part that ends before the whole body is continued")
  func shortPart() async throws {
    let film = Film()
    let (first, second, third) = (film.whole(), film.part("4-6/10"), film.part("7-9/10"))
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)
    await second.sendNext("456")
    second.finish()
    await third.sendNext("789")
    third.finish()

    await expectEqual(response.text(), "0123456789")
  }

  @Test("A failure before the first byte begins at byte 0")
  func nothingReceived() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.part("0-9/10"))
    let response = try film.load().value(in: film)
    first.fail(lost)
    await second.sendNext("0123456789")
    second.finish()

    await expectEqual(response.text(), "0123456789")
    expectEqual(film.ranges, ["-", "bytes=0-"])
  }

  @Test("A server that ignores the range sends the bytes again, and they are skipped")
  func ignoredRange() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.whole())
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)
    await second.sendNext("012345")
    second.send("6789")
    second.finish()

    await expectEqual(response.text(), "0123456789")
  }

  @Test("Another representation ends the body with an error, and its bytes are not passed on")
  func changed() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.whole(tag: "\"v2\""))
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)
    await second.sendNext("abcdefghij")

    await expectEqual(response.text(), "0123 representationChanged")
    #expect(second.cancelRequest != nil)
    second.completeCancelled()
    await film.waitForEnd()
  }

  @Test("A redirect of the rest to another origin ends the body with an error")
  func otherOrigin() async throws {
    let film = Film(before: Redirect())
    let first = film.whole()
    let other = film.mock.stream(
      "/copy", status: HTTPStatus(206),
      headers: try HTTPHeaders([("Content-Range", "bytes 4-9/10")]))
    let response = try film.load().value(in: film)
    film.mock.on(
      "/film",
      .respond(status: HTTPStatus(302), headers: try HTTPHeaders([("Location", "http://other.example.com/copy")])))
    first.send("0123")
    first.fail(lost)

    await expectEqual(response.text(), "0123 resumedAtOtherOrigin")
    #expect(other.cancelRequest != nil)
    other.completeCancelled()
  }

  @Test(
    "A body that cannot be resumed ends with its failure",
    arguments: [
      ([("Content-Length", "10")], nil), ([("Content-Length", "10")], "W/\"v1\""),
      ([("Content-Encoding", "gzip")], Film.tag), ([("Accept-Ranges", "none")], Film.tag),
    ] as [([(String, String)], String?)])
  func notResumable(fields: [(String, String)], tag: String?) async throws {
    let film = Film()
    let first = film.whole(fields, tag: tag)
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(lost)

    await expectEqual(response.text(), "0123 connectionLost")
    expectEqual(film.ranges, ["-"])
  }

  @Test("A failure that is not transient ends the body")
  func notTransient() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load().value(in: film)
    first.send("0123")
    first.fail(HTTPError(.insecureConnection, "The certificate has expired. Renew it."))

    await expectEqual(response.text(), "0123 insecureConnection")
  }

  @Test("A request that is sent once is not resumed")
  func never() async throws {
    let film = Film()
    let first = film.whole()
    let response = try film.load { $0.retry = .never }.value(in: film)
    first.send("0123")
    first.fail(lost)

    await expectEqual(response.text(), "0123 connectionLost")
  }

  @Test("Loads of other requests pass unchanged")
  func passes() async throws {
    let film = Film()
    film.mock.onOthers(.text("film"))
    let range = try HTTPHeaders.Field("Range", "bytes=2-")

    _ = try await film.load(.buffered()).value
    _ = try await film.load { $0.method = .post }.value
    _ = try await film.load { try $0.addHeader(range.name, range.value) }.value

    #expect(film.mock.requests.allSatisfy { !$0.headers.contains("Accept-Encoding") })
    expectEqual(film.resume.liveCount, 0)
  }

  @Test("A response in memory passes, also if a stream was requested")
  func inMemory() async throws {
    let film = Film()
    film.mock.onOthers(.respond(status: .notFound))

    try await expectEqual(film.load().value.status, .notFound)
    expectEqual(film.mock.requests.map { $0.headers["Accept-Encoding"] }, ["identity"])
  }

  @Test("The limits of the delivery apply to the whole body")
  func limits() async throws {
    let film = Film()
    let (first, second) = (film.whole([]), film.part("4-9/10"))
    let response = try film.load(.stream(idleReadTimeout: .seconds(5), maximumSize: 12)).value(in: film)
    let deliveries = { film.mock.requests.map { "\($0.delivery)" } }
    first.send("0123")
    first.fail(lost)
    while !second.isAwaited { await Task.yield() }

    expectEqual(deliveries(), ["as a stream, at most 12 bytes", "as a stream, at most 12 bytes"])
    film.clock.advance(by: .seconds(5))
    expectEqual(response.transfer.text, "bodyNotRead")
    #expect(second.cancelRequest != nil)
    second.completeCancelled()
    withExtendedLifetime(response) {}
  }

  @Test("The reports of progress continue where the first transfer ended")
  func progress() async throws {
    let film = Film()
    let (first, second) = (film.whole(), film.part("4-9/10"))
    let reports = Recorder()
    let response = try film.load {
      $0.progress = { reports("\($0.received.completed)/\($0.received.total ?? -1)") }
    }.value(in: film)
    first.send("0123")
    first.fail(lost)
    await second.sendNext("456")
    second.send("789")
    second.finish()

    await expectEqual(response.text(), "0123456789")
    expectEqual(reports.entries, ["7/10", "10/10"])
  }
}

extension Future<HTTPResponse> {
  /// The response, whose load has completed.
  func value(in film: Film) throws -> HTTPResponse {
    guard case .success(let response)? = outcomeIfCompleted else { throw HTTPError(.invalidResponse, "It is pending.") }
    return response
  }
}
