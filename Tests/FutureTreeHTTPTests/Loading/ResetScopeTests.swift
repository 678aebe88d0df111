import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Resets and scopes")
struct ResetScopeTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let log = Recorder()
  private let api: any HTTPLoader
  private let cookies: CookieJar

  init() {
    cookies = CookieJar(date: clock.wallClock())
    api = chain(ResetGuard() --> Autocancel(clock: clock), before: StoreCookies(in: cookies) --> mock)
  }

  private func request(_ path: String) throws -> HTTPRequest { try HTTPRequest("http://example.com/\(path)") }

  @Test(
    "A reset cancels a scope, and waits for its undos. Their loads pass the guard, and find the state",
    arguments: [false, true])
  func undone(isForced: Bool) throws {
    let (api, undo) = (api, try request("undo"))
    try cookies.store("user=1", from: HTTPURL("http://example.com/"))
    let scope = api.scope("checkout", clock: clock)
    mock.on(.path("/order"), .json("1"))
    scope.undo(of: scope.run { api.load(anyRequest("/order")) }) { _ in api.load(undo) }
    let work = mock.hold()
    let load = scope.run { api.load(anyRequest("/work")) }
    let heldUndo = mock.hold()

    let reset = api.reset()
    #expect(api.load(anyRequest()).isCompleted)  // Refused.
    if isForced { scope.cancel(.forceImmediately) }
    #expect(work.cancelRequest != nil)
    expectEqual(mock.requests.count, 2)
    work.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    expectEqual(mock.requests.count, 3)
    #expect(!reset.isCompleted)
    expectEqual(mock.requests[2].headers["Cookie"], "user=1")
    expectEqual(cookies.cookies.count, 1)
    heldUndo.answer()
    #expect(reset.isCompleted)
    expectEqual(scope.undoneCount, 1)
    expectEqual(cookies.cookies.count, 0)
  }

  @Test("A reset waits no longer than the deadlines of the undos")
  func deadline() throws {
    let api = api
    let scope = api.scope("checkout", undoTimeout: .seconds(20), clock: clock)
    scope.undo(of: Future.succeeded(1), named: "order") { _ in api.load(anyRequest()) }
    let held = mock.hold()

    let reset = api.reset()
    #expect(!reset.isCompleted && held.cancelRequest == nil)
    clock.advance(by: .seconds(20))
    #expect(held.cancelRequest != nil)
    held.complete(.cancelled)

    #expect(reset.isCompleted)
    expectEqual(scope.future.outcomeIfCompleted?.ending, .failed)
  }

  @Test("Undos of other scopes are refused, and settled scopes are forgotten")
  func others() throws {
    let api = api
    let other = CancelScope("other")
    let undo = Locked<Future<HTTPResponse>?>(nil)
    other.undo(of: Future.succeeded(1)) { _ in
      undo.value = api.load(anyRequest())
      return Future.succeeded
    }
    let held = mock.hold()
    let load = api.load(anyRequest())
    let settled = api.scope("settled")
    settled.end()

    let reset = api.reset()
    other.end()
    expectEqual(undo.value?.text.contains("resetInProgress"), true)
    held.complete(.cancelled)

    #expect(load.isCompleted && reset.isCompleted)
  }

  @Test("A scope that was dropped while it waits for its work is still awaited")
  func dropped() throws {
    let api = api
    let held = mock.hold()
    var scope: CancelScope? = api.scope("checkout", clock: clock)
    scope?.run { api.load(anyRequest()) }
    scope?.end()
    scope = nil

    let reset = api.reset()
    #expect(!reset.isCompleted && held.cancelRequest != nil)
    held.complete(.cancelled)

    #expect(reset.isCompleted)
  }

  @Test("A preview names the scopes with what they wait for, and leaves out the loads of undos")
  func preview() throws {
    let api = api
    let scope = api.scope("checkout", clock: clock)
    let held = mock.hold()
    let load = scope.run { api.load(anyRequest("/order")) }
    scope.undo(of: load, named: "order") { _ in api.load(anyRequest("/undo")) }

    #expect(
      "\(api.previewReset())" == """
        GET http://example.com/order, held by GET http://example.com/order, for checkout
        scope checkout, waiting for open, GET http://example.com/order, for checkout
        """)
    held.answer()
    let undo = mock.hold()
    scope.cancel()

    let preview = api.previewReset()
    #expect(preview.loads.isEmpty)
    expectEqual(preview.scopes.map(\.name), ["checkout"])
    expectEqual(preview.scopes.map(\.holders), [["undo order"]])
    undo.answer()
    #expect(api.previewReset().scopes.isEmpty)
    expectEqual(scope.undoneCount, 1)
  }

  @Test("Cancelled everywhere, with a reset: no order remains that was not committed")
  func everywhere() throws {
    try CancelEverywhere.run(grace: .seconds(60)) { trial in
      let mock = MockLoader(clock: trial.clock)
      mock.on(.any, .json("[]").delayed(by: .seconds(1), clock: trial.clock).forever())
      let api = ResetGuard() --> Autocancel(clock: trial.clock) --> Throttle(1, clock: trial.clock) --> mock
      let scope = trial.track(api.scope("checkout", undoTimeout: .seconds(10), clock: trial.clock))
      let orders = Locked(0)
      let order = api.load(anyRequest("/order"))
      order.observe { if case .success = $0 { orders.withLock { $0 += 1 } } }
      scope.undo(of: order) { (_: HTTPResponse) -> Future<HTTPResponse> in
        api.load(anyRequest("/undo")).observed { if case .success = $0 { orders.withLock { $0 -= 1 } } }
      }
      let reset = Future<Void>.after(.milliseconds(1_500), clock: trial.clock).flatMap { api.reset() }
      trial.expect("the order was undone") { _ in orders.value == 0 }
      reset.observe { _ in scope.end() }
      return scope.future
    }
  }
}

extension Future {
  fileprivate func observed(_ body: @escaping @Sendable (Outcome<Value>) -> Void) -> Future {
    observe(body)
    return self
  }
}
