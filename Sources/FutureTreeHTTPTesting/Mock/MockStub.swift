import FutureTreeHTTP

/// What a `MockLoader` was told to answer to some requests, and what came of it.
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

  /// The requests that it answered, in order.
  public var requests: [HTTPRequest] { state.requests }

  /// Its held answers whose loads have begun, in order.
  public var held: [HeldAnswer] { state.held }

  /// How many of its answers were not given yet; one that is for ever counts until it was given once.
  public var unusedAnswers: Int { state.unusedAnswers }

  /// Which requests it is for, where it was made, and how far it was used.
  public var description: String {
    let state = state
    return "\(state.title): \(state.usage)"
  }
}
