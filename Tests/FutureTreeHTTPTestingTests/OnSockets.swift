import TestSupport
import Testing

/// Gives the tests of a suite that uses sockets threads on which no long test is before them: see `OwnThreads`.
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
