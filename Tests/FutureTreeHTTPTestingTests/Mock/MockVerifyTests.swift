import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("MockLoader: verification") struct MockVerifyTests {
  private let mock = MockLoader()

  private func load(_ path: String) throws -> Future<HTTPResponse> {
    mock.load(try HTTPRequest("http://example.com\(path)"))
  }

  @Test("A mock whose answers were all used passes")
  func passes() throws {
    mock.answer()
    mock.on("/ever", .status(.ok), .status(.ok).forever())
    let held = mock.hold("/held")
    for path in ["/", "/ever", "/ever", "/ever", "/held"] { _ = try load(path) }

    try mock.verify()
    expectEqual(mock.unusedAnswers, 0)
    held.complete(.cancelled)
  }

  @Test("Each stub with unused answers is listed with its source line")
  func unused() throws {
    let line: UInt = #line
    mock.on("/users/*", .status(.ok))
    mock.on(.method(.post) && "/flaky", .status(.ok).times(3))
    mock.answer()
    mock.fail(FutureCancelled(reason: "as an error"))
    let held = mock.hold("/held")
    _ = try mock.load(HTTPRequest(.post, "http://example.com/flaky"))

    let error = try #require(mock.verificationError)

    let file = "FutureTreeHTTPTestingTests/MockVerifyTests.swift"
    expectEqual(
      "\(error)",
      """
      Stubs of a MockLoader were not used up. Send the expected requests, or remove the stubs:
      - path /users/*, created at \(file):\(line + 1): never used
      - method POST and path /flaky, created at \(file):\(line + 2): 1 of 3 answers given
      - any request, created at \(file):\(line + 3): never used
      - any request, created at \(file):\(line + 4): never used
      - path /held, created at \(file):\(line + 5): never used
      """)
    withExtendedLifetime(held) {}
  }

  @Test("Each unmatched request is listed with the reason of each mismatch")
  func unexpected() throws {
    let line: UInt = #line
    mock.on("/once", .status(.ok))
    mock.on(.host("other.example.com"), .status(.ok).forever())
    _ = try load("/once")
    _ = try load("/once?again")
    _ = try mock.load(HTTPRequest("http://other.example.com/"))

    let error = try #require(mock.verificationError)

    let file = "FutureTreeHTTPTestingTests/MockVerifyTests.swift"
    #expect(
      "\(error)" == """
        MockLoader has no response for GET http://example.com/once?…. \
        Add a stub with `on`, `answer`, `fail` or `hold` before the load. Its stubs:
        - path /once, created at \(file):\(line + 1): all of its answers have been used
        - host other.example.com, created at \(file):\(line + 2): its host is example.com
        """)
    #expect(error.unusedStubs.isEmpty)
    expectEqual(error.unexpectedRequests.count, 1)
  }

  @Test("A long list is truncated")
  func long() throws {
    for _ in 0..<60 { mock.on("/other", .status(.ok)) }

    let error = try #require(mock.verificationError)

    expectEqual(error.unusedStubs.count, 60)
    #expect("\(error)".hasSuffix("- and 10 more"))
  }

  @Test("The error of a mock without stubs says so")
  func empty() throws {
    let future = try load("/surprise")

    let expected = "MockLoader has no response for GET http://example.com/surprise, because it has no stubs. "
    guard case .failure(let error)? = future.outcomeIfCompleted else {
      Issue.record("it is not a failure")
      return
    }
    #expect("\(error)".hasPrefix(expected))
  }
}
