import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Scopes: loads have the deadline of their scope")
struct ScopeDeadlineLoadTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func loadInScope(_ api: any HTTPLoader, _ request: HTTPRequest) -> HTTPRequest? {
    mock.answer()
    let scope = CancelScope(deadline: .after(.seconds(5), clock: clock))
    scope.run { api.load(request) }
    scope.end()
    return mock.requests.last
  }

  @Test("A load has the deadline of its scope, and crosses to the server")
  func carried() {
    let sent = loadInScope(ModifyRequest.sendingDeadline() --> mock, anyRequest())

    expectEqual(sent?.deadline?.remaining, .seconds(5))
    expectEqual(sent?.headers["request-timeout"], "5000")
  }

  @Test("The nearer of the deadlines of the request and of the scope counts", arguments: [1, 9])
  func nearer(seconds: Int) {
    var request = anyRequest()
    request.deadline = .after(.seconds(seconds), clock: clock)

    expectEqual(loadInScope(Retry() --> mock, request)?.deadline?.remaining, .seconds(min(seconds, 5)))
  }

  @Test("Loads outside a scope, and in a scope without a deadline, have none")
  func none() {
    let api = Retry() --> mock
    let request = anyRequest()
    for _ in 0..<2 { mock.answer() }
    _ = api.load(request)
    let limited = CancelScope(deadline: .after(.seconds(5), clock: clock))
    CancelScope().run { api.load(request) }

    expectEqual(mock.requests.count, 2)
    #expect(mock.requests.allSatisfy { $0.deadline == nil })
    limited.end()
  }

  @Test("The load that several callers share does not have the deadline of one caller")
  func shared() {
    mock.answer()
    let sent = loadInScope(Coalesce() --> Retry() --> mock, anyRequest())

    #expect(sent != nil && sent?.deadline == nil)
  }

  @Test("When the deadline of a scope passes, its loads are cancelled")
  func passes() {
    let scope = CancelScope(deadline: .after(.seconds(5), clock: clock))
    let api = Autocancel() --> mock
    let held = mock.hold(whenCancelled: .complete)
    let load = scope.run { api.load(anyRequest()) }
    clock.advance(by: .seconds(5))

    guard case .cancelled(let reason) = load.outcomeIfCompleted else {
      Issue.record("\(load.tree())")
      return
    }
    expectEqual(reason.kind, .deadline)
    #expect(scope.future.isCompleted)
    #expect(held.cancelRequest != nil)
  }
}
