import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import FutureTreeRecording
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Receipts of resets")
struct ResetReceiptTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func request(_ path: String = "feed") throws -> HTTPRequest { try HTTPRequest("https://example.com/\(path)") }

  private func receipt(of future: Future<ResetReceipt>) throws -> ResetReceipt {
    guard case .success(let receipt)? = future.outcomeIfCompleted else { throw NotCompleted() }
    return receipt
  }

  private struct NotCompleted: Error {}

  @Test("A receipt has a part for each layer and the transport, in their order, with durations")
  func parts() throws {
    let jar = CookieJar(date: clock.wallClock())
    try jar.store("a=1", from: HTTPURL("https://example.com/"))
    let api =
      ResetGuard() --> Autocancel(clock: clock) --> Retry(clock: clock) --> StoreCookies(in: jar) --> mock
    let held = mock.hold()
    let load = api.load(try request())

    let reset = api.resetWithReceipt(clock: clock)
    let refused = api.load(try request())
    clock.advance(by: .seconds(2))
    held.complete(.cancelled)
    let receipt = try receipt(of: reset)

    expectEqual(load.outcomeIfCompleted?.ending, .cancelled)
    #expect(refused.isCompleted)
    expectEqual(receipt.parts.map(\.name), ["ResetGuard", "Autocancel", "Retry", "StoreCookies", "MockLoader"])
    #expect(
      receipt.refused == 1 && receipt.parts[1].drained == 1 && receipt.forced == 0 && receipt.wiped == ["1 cookie"])
    #expect(receipt.error == nil)
    #expect(receipt.duration == .seconds(2) && receipt.parts[1].duration == .seconds(2))
    expectEqual(receipt.parts[3].duration, .zero)
    expectEqual(
      "\(receipt)",
      """
      reset in 2 s: 1 load refused
        ResetGuard    2 s  1 load refused
        Autocancel    2 s  1 load drained
        Retry         0 s
        StoreCookies  0 s  wiped 1 cookie
        MockLoader    0 s
      """)
  }

  @Test("Loads that do not end in time are counted as forced")
  func forced() throws {
    let api = Autocancel(drainTimeout: .seconds(5), clock: clock) --> mock
    let held = [mock.hold(whenCancelled: .ignore), mock.hold()]
    let loads = try [api.load(request()), api.load(request())]

    let reset = api.resetWithReceipt(clock: clock)
    held[1].complete(.cancelled)
    clock.advance(by: .seconds(5))
    let receipt = try receipt(of: reset)

    #expect(receipt.parts[0].drained == 2 && receipt.forced == 1 && loads.allSatisfy { $0.isCompleted })
    #expect("\(receipt)".hasPrefix("reset in 5 s: 1 load forced\n  Autocancel  5 s  2 loads drained, 1 forced\n"))
    held[0].complete(.cancelled)
  }

  @Test("A stream that is drained is counted")
  func streams() throws {
    let api = Autocancel(clock: clock) --> mock
    let stream = mock.stream(whenCancelled: .complete)
    var request = try request()
    request.delivery = .stream()
    let load = api.load(request)
    stream.send("a")

    let receipt = try receipt(of: api.resetWithReceipt(clock: clock))

    #expect(receipt.parts.map(\.drained) == [1, 0] && load.isCompleted)
  }

  @Test("A reset that fails in a part succeeds with a receipt, which has the error")
  func failure() throws {
    struct Broken: HTTPLayer {
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
      func wipe(_ notes: ResetNotes) -> Future<Void> { .failed(HTTPError(.storeFailed, "full")) }
    }

    let api = ResetGuard() --> Broken() --> mock
    let receipt = try receipt(of: api.resetWithReceipt(clock: clock))

    expectEqual(receipt.error?.errors.count, 1)
    expectEqual(receipt.parts.map(\.errors.count), [0, 1, 0])
    #expect("\(receipt)".hasPrefix("reset failed in 0 s\n  ResetGuard  0 s\n  Broken      0 s  failed\n"))
  }

  @Test("A layer of the user adds notes, also later and after a pause")
  func notes() throws {
    struct Thumbnails: HTTPLayer {
      let clock: ManualClock

      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

      func wipe(_ notes: ResetNotes) -> Future<Void> {
        Future.after(.seconds(1), clock: clock).map { notes.wiped("12 thumbnails") }
      }
    }

    let api = Thumbnails(clock: clock) --> Retry(clock: clock) --> mock
    let reset = api.resetWithReceipt(clock: clock)
    clock.advance(by: .seconds(1))
    let receipt = try receipt(of: reset)

    expectEqual(receipt.wiped, ["12 thumbnails"])
    expectEqual(receipt.parts.map(\.name), ["Thumbnails", "Retry", "MockLoader"])
    expectEqual(receipt.parts.map(\.duration), [.seconds(1), .zero, .zero])
  }

  @Test("A receipt has the branches of a route, and a shared loader once")
  func route() throws {
    let shared = Retry(clock: clock) --> mock
    let api =
      Route(.when({ $0.url?.path == "/a" }, Hedge(clock: clock)), .when({ $0.url?.path == "/b" }, shared)) --> shared

    let receipt = try receipt(of: api.resetWithReceipt(clock: clock))

    expectEqual(receipt.parts.count { $0.name == "Retry" }, 1)
    expectEqual(receipt.parts.count { $0.name == "MockLoader" }, 1)
    #expect(receipt.parts.contains { $0.name == "Hedge" } && receipt.parts[0].name == "Route")
    #expect(receipt.error == nil)
  }

  @Test("Overlapping resets with and without a receipt join at the guard")
  func joined() throws {
    let api = ResetGuard() --> Autocancel(drainTimeout: nil, clock: clock) --> mock
    let held = mock.hold()
    let load = api.load(try request())

    let resets = [api.resetWithReceipt(clock: clock), api.resetWithReceipt(clock: clock)]
    let plain = api.reset()
    #expect(!plain.isCompleted && !resets[1].isCompleted)
    held.complete(.cancelled)

    #expect(load.isCompleted && plain.isCompleted)
    try expectEqual(receipt(of: resets[0]).parts.map(\.name), ["ResetGuard", "Autocancel", "MockLoader"])
    try expectEqual(receipt(of: resets[1]).parts.map(\.drained), receipt(of: resets[0]).parts.map(\.drained))
  }

  @Test("Layers with state report what they wiped")
  func wiped() throws {
    let cache = HTTPCache(date: clock.wallClock())
    let recorder = HTTPRecorder(date: clock.wallClock(), clock: clock)
    let breaker = CircuitBreaker(clock: clock)
    let api = CacheResponses(in: cache) --> Hedge(clock: clock) --> breaker --> recorder --> mock
    let headers = try HTTPHeaders([("Cache-Control", "max-age=60")])
    mock.on(.any, .respond(headers: headers, body: Data("a".utf8)).forever())
    _ = try [api.load(request("a")), api.load(request("b"))]

    let receipt = try receipt(of: api.resetWithReceipt(clock: clock))

    expectEqual(receipt.wiped, ["2 responses", "1 measured origin", "1 circuit", "2 recorded entries"])
  }

  @Test("Cancelling the future of a receipt only ends the wait")
  func cancelled() throws {
    let api = ResetGuard() --> Autocancel(drainTimeout: nil, clock: clock) --> mock
    let held = mock.hold()
    let load = api.load(try request())

    let reset = api.resetWithReceipt(clock: clock)
    reset.cancel()
    expectEqual(reset.outcomeIfCompleted?.ending, .cancelled)
    #expect(load.cancelRequest == nil)
    held.complete(.cancelled)

    #expect(load.isCompleted)
    expectEqual(mock.cancelRequests.count, 1)
  }

  @Test("A preview names the loads, their holders and the interested futures, and has no side effects")
  func preview() throws {
    let throttle = Throttle(1, clock: clock)
    let api = ResetGuard() --> Autocancel(clock: clock) --> Retry(clock: clock) --> throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let title = api.load(try request()).map { $0.status }.named("title")
    let queued = api.load(try request("comments"))
    let token = queued.cancelToken()

    let preview = api.previewReset()

    #expect(
      "\(preview)" == """
        GET https://example.com/feed, held by GET https://example.com/feed, for title
        GET https://example.com/comments, held by Throttle, for ResetGuard (1)
        """)
    #expect(title.cancelRequest == nil)
    #expect(mock.cancelRequests.isEmpty)
    expectEqual(throttle.waitingCount, 1)
    withExtendedLifetime(token) {}
    held[0].answer()
    held[1].answer()
    #expect(api.previewReset().loads.isEmpty && queued.isCompleted)
  }

  @Test("A load that shares the work of others is previewed with its own consumers only")
  func previewOfShared() throws {
    let api = Autocancel(clock: clock) --> Coalesce() --> mock
    let held = mock.hold()
    let loads = ["title", "author"].map { api.load(anyRequest()).map(\.status).named(FutureName($0)) }

    let preview = api.previewReset()

    #expect(
      "\(preview)" == """
        GET http://example.com/, held by GET http://example.com/, for title
        GET http://example.com/, held by GET http://example.com/, for author
        """)
    held.answer()
    #expect(loads.allSatisfy { $0.isCompleted })
  }

  @Test("Loads that one future joins are previewed with their own holders only")
  func previewOfJoined() throws {
    let throttle = Throttle(1, clock: clock)
    let api = Autocancel(clock: clock) --> throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let page = Future.all([api.load(anyRequest("/a")), api.load(anyRequest("/b"))]).map(\.count).named("page")

    let preview = api.previewReset()

    #expect(
      "\(preview)" == """
        GET http://example.com/a, held by GET http://example.com/a, for page
        GET http://example.com/b, held by Throttle, for page
        """)
    for answer in held { answer.answer() }
    #expect(page.isCompleted)
  }

  @Test("A preview has streams, the branches of a route, and nothing of a chain without Autocancel")
  func previewOfStreams() throws {
    let guarded = Autocancel(clock: clock) --> mock
    let api = Route(.when({ _ in true }, guarded), .when({ _ in false }, guarded)) --> MockLoader()
    let stream = mock.stream()
    var request = try request()
    request.delivery = .stream()
    let load = api.load(request)
    stream.send("a")

    let loads = api.previewReset().loads

    #expect(loads.count == 1 && loads[0].isStream && load.isCompleted)
    #expect((Retry() --> mock).previewReset().loads.isEmpty)
    stream.finish()
    #expect(api.previewReset().loads.isEmpty)
  }
}
