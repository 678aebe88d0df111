import FutureTreeHTTP

/// A stub of a `MockLoader`: its answers for some requests, and the record of their use.
///
/// ```swift
/// let users = mock.on("/users/*", .json("{}").forever())
/// _ = api.user(7)
/// #expect(users.requests.map(\.path) == ["/users/7"])
/// ```
public struct MockStub: Sendable, CustomStringConvertible {
  let mock: MockLoader
  let number: Int

  private var state: MockScript.Stub { mock.script.withLock { $0.stubs[number] } }

  /// The requests that the stub answered, in order.
  public var requests: [HTTPRequest] { state.requests }

  /// The held answers of the stub whose loads have begun, in order.
  public var held: [HeldAnswer] { state.held }

  /// The number of answers that were not given yet. An answer that is `forever()` counts until it was given once.
  public var unusedAnswers: Int { state.unusedAnswers }

  /// The matcher, the source location of the stub, and its usage.
  public var description: String {
    let state = state
    return "\(state.title): \(state.usage)"
  }
}
