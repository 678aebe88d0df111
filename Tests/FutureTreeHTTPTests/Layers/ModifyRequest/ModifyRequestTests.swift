import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
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
}
