import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

@Suite("Layers: ModifyRequest")
struct ModifyRequestTests {
  private let mock = MockLoader()

  @Test("the request is sent as the closure leaves it")
  func now() {
    let api =
      ModifyRequest { request in try request.setHeader("X-One", "1") } --> mock
    mock.answer()

    #expect(api.load(anyRequest()).text == "success")
    #expect(mock.requests.map { $0.headers["x-one"] } == ["1"])
  }

  @Test("what it throws fails the load, which does not go on", arguments: [true, false])
  func throwing(isLater: Bool) {
    let api =
      (isLater
        ? ModifyRequest.deferred { _ in throw Oops() }
        : ModifyRequest { _ in throw Oops() })
      --> mock

    #expect(api.load(anyRequest()).text == "\(Oops())")
    #expect(mock.requests.isEmpty)
  }

  @Test("what its future succeeds with is sent, then")
  func later() {
    let promise = Promise<HTTPRequest>()
    let api = ModifyRequest.deferred { _ in promise.future } --> mock
    mock.answer()

    let load = api.load(anyRequest())
    #expect(mock.requests.isEmpty)
    promise.succeed(anyRequest("/changed"))

    #expect(load.text == "success" && mock.requests.map(\.path) == ["/changed"])
  }

  @Test(
    "H2: asked while the future is pending, it asks the future, and the request does not go on",
    arguments: [Outcome<HTTPRequest>.success(anyRequest()), .failure(Oops()), .cancelled("gone")])
  func cancelled(outcome: Outcome<HTTPRequest>) {
    let promise = Promise<HTTPRequest>()
    let load = (ModifyRequest.deferred { _ in promise.future } --> mock).load(anyRequest())

    load.cancel(reason: "enough")
    #expect(promise.cancelRequest?.reason.message == "enough")
    promise.complete(with: outcome)

    #expect(load.isCompleted && load.text != "success" && mock.requests.isEmpty)
  }

  @Test("a reset passes on")
  func reset() {
    #expect((ModifyRequest { _ in } --> mock).reset().text == "success")
  }
}
