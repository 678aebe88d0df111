import Testing

/// Runs the tests of a suite that uses sockets on threads without long tests: see `OwnThreads`.
package struct OnSockets: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(OwnThreads.shared, operation: function)
  }
}

extension Trait where Self == OnSockets {
  package static var onSockets: OnSockets { OnSockets() }
}
