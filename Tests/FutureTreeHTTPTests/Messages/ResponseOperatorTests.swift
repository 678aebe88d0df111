import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Validating and decoding") struct ResponseOperatorTests {
  private struct User: Codable, Sendable, Equatable {
    var name: String
    var tags: [Int] = []
  }

  private let mock = MockLoader()

  private func load() throws -> Future<HTTPResponse> { mock.load(try HTTPRequest("http://example.com/?q=sentinel")) }

  private func failure(_ future: Future<some Sendable>) -> HTTPError? {
    guard case .failure(let error)? = future.outcomeIfCompleted else { return nil }
    return error as? HTTPError
  }

  @Test(
    "A success passes, and every other status fails with the response", arguments: [200, 204, 299, 199, 300, 404, 500])
  func validated(code: Int) throws {
    mock.answer(status: HTTPStatus(code), body: "sentinel")

    let future = try load().validated()

    if (200..<300).contains(code) {
      expectEqual(future.outcomeIfCompleted?.ending, .succeeded)
    } else {
      let error = try #require(failure(future))
      expectEqual(error.code, .unacceptableStatus)
      expectEqual(error.response?.status.code, code)
      try expectEqual(error.response?.body, Data("sentinel".utf8))
      #expect(error.message == "GET http://example.com/?… failed with the status \(code). See `response`.")
    }
  }

  @Test("The caller chooses the accepted statuses")
  func accepted() throws {
    mock.answer(status: .notFound)
    mock.answer(status: .ok)

    try expectEqual(load().validated { $0 == .notFound }.outcomeIfCompleted?.ending, .succeeded)
    try expectEqual(failure(load().validated { $0 == .notFound })?.code, .unacceptableStatus)
  }

  @Test("A body is decoded by the given decoder, whatever the status")
  func decoded() async throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    mock.answer(status: .notFound, body: #"{"name":"Ada","tags":[1]}"#)

    let user: User = try await load().decoded(using: decoder).value

    expectEqual(user, User(name: "Ada", tags: [1]))
  }

  @Test(
    "A decoding error shows the path of the fault, and no value",
    arguments: [
      (#"{"name":"sentinel","tags":[1,"sentinel"]}"#, "tags[1] is not of type Int"),
      (#"{"tags":["sentinel"]}"#, "name is missing"),
      (#"{"name":null,"tags":[]}"#, "name is null, but must be of type String"), ("", "the body is empty"),
      (#"{"name":"a","tags":[1e99]}"#, "a value has the wrong type"),
      (#"["sentinel"]"#, "its top level is no"),
      (#"{"name":"a" sentinel}"#, "the body is not JSON. "),
    ])
  func undecodable(body: String, fault: String) throws {
    mock.answer(status: .ok, body: body)

    let error = try #require(failure(load().decoded(as: User.self)))

    expectEqual(error.code, .undecodableBody)
    #expect(error.message.contains(fault), "\(error.message)")
    try expectEqual(error.response?.body, Data(body.utf8))
    var dumped = "\(error)"
    dump(error, to: &dumped)
    #expect(!dumped.contains("sentinel"))
  }

  @Test("Failures and cancellations pass")
  func passing() throws {
    mock.fail(HTTPError(.timedOut, "Too late."))
    let held = mock.hold()

    try expectEqual(failure(load().validated().decoded(as: User.self))?.code, .timedOut)
    let future = try load().validated().decoded(as: User.self)
    held.complete(.cancelled)
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("A cancellation request is forwarded, and no body begins (law 11, bodies that have not begun)", .tags(.law11))
  func cancelled() throws {
    let held = mock.hold()
    let executor = ManualExecutor()
    let accepted = Locked(0)
    let response = try load()
    let future =
      response.validated { _ in
        accepted.withLock { $0 += 1 }
        return true
      }.decoded(as: User.self, on: executor.executor)

    future.cancel()
    #expect(held.cancelRequest != nil)
    held.complete(.success(HTTPResponse(to: try HTTPRequest("http://a/"), status: .ok, body: Data("{".utf8))))

    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
    expectEqual(accepted.withLock { $0 }, 0)
    withExtendedLifetime(response) {}
  }

  @Test("A decoding that waits for its executor is cancelled at once")
  func queued() throws {
    mock.answer(status: .ok, body: "{}")
    let executor = ManualExecutor()

    let future = try load().decoded(as: User.self, on: executor.executor)
    #expect(future.outcomeIfCompleted == nil)
    future.cancel()

    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }
}
