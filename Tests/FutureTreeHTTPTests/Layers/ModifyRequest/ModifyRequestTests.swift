import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: ModifyRequest")
struct ModifyRequestTests {
  private let mock = MockLoader()

  @Test("The request is sent as the closure leaves it")
  func now() {
    let api =
      ModifyRequest { request in try request.setHeader("X-One", "1") } --> mock
    mock.answer()

    expectEqual(api.load(anyRequest()).text, "success")
    expectEqual(mock.requests.map { $0.headers["x-one"] }, ["1"])
  }

  @Test("An error of the closure fails the load, and nothing is sent", arguments: [true, false])
  func throwing(isLater: Bool) {
    let api =
      (isLater
        ? ModifyRequest.deferred { _ in throw Oops() }
        : ModifyRequest { _ in throw Oops() })
      --> mock

    expectEqual(api.load(anyRequest()).text, "\(Oops())")
    #expect(mock.requests.isEmpty)
  }

  @Test("A deferred request is sent when its future succeeds")
  func later() {
    let promise = Promise<HTTPRequest>()
    let api = ModifyRequest.deferred { _ in promise.future } --> mock
    mock.answer()

    let load = api.load(anyRequest())
    #expect(mock.requests.isEmpty)
    promise.succeed(anyRequest("/changed"))

    expectEqual(load.text, "success")
    expectEqual(mock.requests.map(\.path), ["/changed"])
  }

  @Test(
    "A cancelled load cancels the pending future and sends no request (H2, the holder completes)",
    arguments: [Outcome<HTTPRequest>.success(anyRequest()), .failure(Oops()), .cancelled("gone")])
  func cancelled(outcome: Outcome<HTTPRequest>) {
    let promise = Promise<HTTPRequest>()
    let load = (ModifyRequest.deferred { _ in promise.future } --> mock).load(anyRequest())

    load.cancel(reason: "enough")
    expectEqual(promise.cancelRequest?.reason.message, "enough")
    promise.complete(with: outcome)

    #expect(load.isCompleted && load.text != "success" && mock.requests.isEmpty)
  }

  @Test("A reset is forwarded")
  func reset() {
    expectEqual((ModifyRequest { _ in } --> mock).reset().text, "success")
  }

  // MARK: Idempotency keys

  private func keys() -> [String?] { mock.requests.map { $0.headers["Idempotency-Key"] } }

  @Test("Each load has a key of its own, which all its attempts send, so that a POST is repeated")
  func idempotencyKeys() throws {
    let retry = Retry(attempts: 2, clock: ManualClock(), random: .seeded(1))
    let api = ModifyRequest.sendingIdempotencyKey(random: .seeded(1)) --> retry --> mock
    let clock = ManualClock()
    let repeated =
      ModifyRequest.sendingIdempotencyKey(random: .seeded(2)) --> Retry(attempts: 2, clock: clock) --> mock
    mock.onOthers(.status(.serviceUnavailable))

    _ = try api.load(HTTPRequest(.post, "http://a.example/"))
    let load = try repeated.load(HTTPRequest(.patch, "http://a.example/"))
    clock.advance(by: .seconds(1))

    #expect(load.isCompleted)
    expectEqual(keys().count, 3)
    expectEqual(keys()[1], keys()[2])
    #expect(keys()[0] != keys()[1])
    for key in keys() {
      let form = /"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"/
      #expect(key?.wholeMatch(of: form) != nil, "\(key ?? "nil")")
    }
  }

  @Test("A request that has a key, or needs none, is unchanged")
  func ownKeys() throws {
    let api = ModifyRequest.sendingIdempotencyKey() --> mock
    mock.onOthers(.status(.ok))
    var own = try HTTPRequest(.post, "http://a.example/")
    try own.setHeader("idempotency-key", "1")

    _ = api.load(own)
    for method in [HTTPMethod.get, .put, .delete] { _ = api.load(try HTTPRequest(method, "http://a.example/")) }
    _ = try (ModifyRequest.sendingIdempotencyKey(for: [.put]) --> mock).load(HTTPRequest(.post, "http://a.example/"))

    expectEqual(keys(), ["1", nil, nil, nil, nil])
  }
}
