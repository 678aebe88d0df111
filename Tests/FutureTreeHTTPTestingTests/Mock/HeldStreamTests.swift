import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@Suite("HeldStream") struct HeldStreamTests {
  private let mock = MockLoader(clock: ManualClock())

  private func response(_ delivery: ResponseDelivery = .stream()) async throws -> HTTPResponse {
    try await load(delivery).value
  }

  private func load(_ delivery: ResponseDelivery) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest("http://example.com/feed")
    request.delivery = delivery
    return mock.load(request)
  }

  private func text(_ response: HTTPResponse) async throws -> String {
    try await response.bodyStream.reduce(into: "") { $0 += String(decoding: $1, as: UTF8.self) }
  }

  @Test("A load completes at the head, and the test sends the body")
  func stream() async throws {
    let feed = mock.stream("/feed")
    #expect(!feed.send("early"))
    let response = try await response()
    expectEqual(feed.request?.path, "/feed")
    #expect(feed.send("a") && feed.send("b"))
    expectEqual(mock.pendingCount, 1)

    #expect(feed.finish() && !feed.finish())
    try await expectEqual(text(response), "ab")
    expectEqual(mock.pendingCount, 0)
    try mock.verify()
  }

  @Test("A stream is cut after any byte", arguments: 0...3)
  func cut(count: Int) async throws {
    let feed = mock.stream("/feed")
    let response = try await response()
    for _ in 0..<count { feed.send("a") }
    feed.fail(HTTPError(.connectionLost, "The connection was closed. Load again."))

    var iterator = response.bodyStream.makeAsyncIterator()
    for _ in 0..<count { try await expectEqual(iterator.next(), Data("a".utf8)) }
    let error = await #expect(throws: HTTPError.self) { try await iterator.next() }
    expectEqual(error?.code, .connectionLost)
  }

  @Test("A cancellation request reaches the transfer, and the test confirms it")
  func cancelled() async throws {
    let feed = mock.stream("/feed")
    let response = try await response()
    #expect(!feed.completeCancelled())
    response.transfer.cancel(reason: "the user left")

    expectEqual(feed.cancelRequest?.reason.message, "the user left")
    expectEqual(mock.cancelRequests.map(\.reason.message), ["the user left"])
    #expect(!response.transfer.isCompleted)
    #expect(feed.completeCancelled())
    await expectEqual(response.transfer.outcome.ending, .cancelled)
  }

  @Test("A stream that is dropped by its caller is asked to cancel")
  func dropped() async throws {
    let feed = mock.stream("/feed", whenCancelled: .complete)
    _ = try await response()

    expectEqual(feed.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    #expect(feed.isCompleted)
    expectEqual(mock.pendingCount, 0)
  }

  @Test("A held stream that is deallocated fails its transfer")
  func deallocated() async throws {
    var feed: HeldStream? = mock.stream("/feed")
    let response = try await response()
    withExtendedLifetime(feed) {}
    feed = nil

    guard case .failure(let error as HTTPError) = await response.transfer.outcome else {
      Issue.record("The transfer has not failed.")
      return
    }
    expectEqual(error.code, .transportFailed)
  }

  @Test("A reset cancels held streams and waits for them")
  func reset() async throws {
    let feed = mock.stream("/feed")
    let response = try await response()
    let reset = mock.reset()
    #expect(!reset.isCompleted)
    expectEqual(feed.cancelRequest?.reason.message, "the mock was reset")

    feed.completeCancelled()
    _ = try await reset.value
    #expect(response.transfer.isCompleted)
  }

  @Test("A request that asks for no stream gets the whole body")
  func buffered() async throws {
    let feed = mock.stream("/feed")
    let load = try load(.buffered())
    feed.send("a")
    feed.send("b")
    #expect(!load.isCompleted)
    feed.finish()

    try await expectEqual(load.value.body, Data("ab".utf8))
  }

  @Test("Scripted chunks are a stream, and a failure cuts them")
  func chunks() async throws {
    mock.on(
      "/feed", .chunks(["a", "b"]), .chunks(["c"], failure: HTTPError(.connectionLost, "cut")),
      .chunks(["d"], failure: HTTPError(.connectionLost, "cut")))

    try await expectEqual(text(response()), "ab")
    let cut = try await response()
    await #expect(throws: HTTPError.self) { try await text(cut) }
    await #expect(throws: HTTPError.self) { try await response(.buffered()) }
  }

  @Test("An ordinary answer is delivered where the request wants it")
  func deliveries() async throws {
    mock.on("/feed", .text("body").times(3))
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-\(UUID())")
    defer { try? FileManager.default.removeItem(at: url) }

    let streamed = try await response()
    #expect(streamed.transfer.isCompleted)
    try await expectEqual(text(streamed), "body")
    guard case .file(let written, let size) = try await response(.file(url)).content else {
      Issue.record("The body is not in a file.")
      return
    }
    #expect(try Data(contentsOf: written) == Data("body".utf8) && size == 4)
    let limited = try await response(.stream(maximumSize: 3))
    await #expect(throws: HTTPError.self) { try await text(limited) }
  }

  @Test("Responses that do not succeed are in memory")
  func failures() async throws {
    mock.on("/feed", .text("missing", status: .notFound), .chunks(["miss", "ing"], status: .notFound))

    for _ in 1...2 { try await expectEqual(response().body, Data("missing".utf8)) }
  }
}
