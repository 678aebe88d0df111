import TestSupport
import Testing

/// Runs the tests of a suite with sockets on threads without long-running tests: see `OwnThreads`.
struct OnSockets: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(OwnThreads.shared, operation: function)
  }
}

extension Trait where Self == OnSockets {
  static var onSockets: OnSockets { OnSockets() }
}
