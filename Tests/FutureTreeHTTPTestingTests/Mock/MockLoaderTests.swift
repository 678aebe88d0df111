import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("MockLoader") struct MockLoaderTests {
  private let mock = MockLoader()

  private func load(_ path: String = "/") throws -> Future<HTTPResponse> {
    mock.load(try HTTPRequest("http://example.com\(path)"))
  }

  @Test("Answers are used in the order in which they were added")
  func order() throws {
    mock.answer(body: "first")
    mock.answer(status: .notFound)
    mock.fail(FutureCancelled(reason: "as an error"))

    let futures = try (0..<3).map { try load("/\($0)") }

    try expectEqual(futures[0].outcomeIfCompleted?.get().body, Data("first".utf8))
    try expectEqual(futures[1].outcomeIfCompleted?.get().status, .notFound)
    expectEqual(futures[2].outcomeIfCompleted?.ending, .failed)
    expectEqual(mock.requests.map(\.path), ["/0", "/1", "/2"])
    expectEqual(mock.unusedAnswers, 0)
  }

  @Test("A load without an answer fails with an error that names the request")
  func unexpected() throws {
    let future = try load("/surprise")

    #expect(
      future.outcomeIfCompleted?.ending == .failed
        && "\(future.tree())".contains("no response for GET http://example.com/surprise"))
  }

  @Test("A request without a host fails, is not recorded, and takes no answer")
  func noHost() throws {
    mock.answer(body: "first")

    let future = mock.load(try HTTPRequest(.get, path: "users"))

    let error = #expect(throws: HTTPError.self) { try future.outcomeIfCompleted?.get() }
    expectEqual(error?.code, .missingHost)
    #expect(mock.requests.isEmpty)
    try expectEqual(load().outcomeIfCompleted?.get().body, Data("first".utf8))
  }

  @Test("A held answer is pending until the test completes it, and records cancellation requests")
  func held() throws {
    let held = mock.hold()
    let future = try load("/held")
    #expect(!future.isCompleted)
    expectEqual(held.request?.path, "/held")

    future.cancel(.doNotForwardIfOthersWaiting, reason: "late")

    expectEqual(held.cancelRequest?.reason.message, "late")
    expectEqual(mock.cancelRequests.map(\.options), [.doNotForwardIfOthersWaiting])
    #expect(held.answer(body: "all the same"))
    expectEqual(future.outcomeIfCompleted?.ending, .succeeded)
    #expect(!held.answer())
  }

  @Test("A held answer that is dropped fails its load")
  func dropped() throws {
    var held: HeldAnswer? = mock.hold()
    let future = try load()

    held = nil
    _ = held

    expectEqual(future.outcomeIfCompleted?.ending, .failed)
  }
}
