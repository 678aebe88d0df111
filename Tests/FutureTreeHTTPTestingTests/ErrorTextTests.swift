import FutureTree
import FutureTreeHTTP
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

@Suite("Errors of test doubles: cause, place and remedy") struct ErrorTextTests {
  @Test("The errors of mocks and servers state cause, place and remedy")
  func all() async throws {
    let mock = MockLoader()
    let request = try HTTPRequest("http://example.com/feed")
    let unexpected = try #require(await error { try await mock.load(request).value })
    mock.on("/other", .status(.ok))
    let unmatched = try #require(await error { try await mock.load(request).value })
    let unused = try #require(#expect(throws: MockVerificationError.self) { try mock.verify() })
    let server = try LoopbackServer()
    let late = try #require(await error { try await server.waitUntil(within: .milliseconds(1)) { _ in false }.value })
    let wait = server.waitForRequest(to: "/feed")
    server.stop()
    let stopped = try #require(await error { try await wait.value })
    let errors: [any Error] = [
      unexpected, unmatched, unused, late, stopped, LoopbackServerError(call: "bind", number: 24),
    ]

    for error in errors { #expect(ErrorText.fault(of: error) == nil) }
  }

  private func error(_ body: () async throws -> some Sendable) async -> (any Error)? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error
    }
  }
}
