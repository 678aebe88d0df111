import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect, cancellation and lifetime")
struct RedirectCancellationTests {
  private let mock = MockLoader()
  private var api: any HTTPLoader { Redirect() --> mock }

  @Test("A cancellation request goes to the request in flight, with its options and reason", arguments: [0, 1, 5])
  func forwarded(hops: Int) {
    for _ in 0..<hops { mock.on(.any, .redirect(to: "/b")) }
    let held = mock.hold()
    let load = api.load(anyRequest())

    let receipt = load.cancel(reason: "enough")

    expectEqual(held.cancelRequest?.reason.message, "enough")
    expectEqual(load.text, "pending")
    expectEqual(receipt.effect, .delivered)
    held.complete(.cancelled)
    expectEqual(load.text, "cancelled")
    expectEqual(mock.requests.count, hops + 1)
  }

  @Test(
    "A redirect that arrives after a cancellation request is not followed", arguments: [0, 1],
    [301, 302, 303, 307, 308])
  func notFollowed(hops: Int, status: Int) {
    for _ in 0..<hops { mock.on(.any, .redirect(to: "/b")) }
    let held = mock.hold()
    let load = api.load(anyRequest())
    load.cancel(reason: "enough")

    held.redirect(status, to: "/c")

    expectEqual(load.outcomeIfCompleted?.reason, "enough")
    expectEqual(mock.requests.count, hops + 1)
  }

  @Test("A final response that arrives after a cancellation request is the outcome")
  func faster() {
    mock.on(.any, .redirect(to: "/b"))
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.answer(body: "done")

    expectEqual(load.outcomeIfCompleted?.value?.redirections.count, 1)
  }

  @Test("A failure that arrives after a cancellation request is the outcome")
  func failure() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.complete(.failure(Oops()))

    expectEqual(load.text, "oops")
    expectEqual(mock.requests.count, 1)
  }

  @Test(
    "A forced or detached load follows no later redirect",
    arguments: [.forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func ended(options: CancellationOptions) {
    mock.on(.any, .redirect(to: "/b"))
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(options)
    expectEqual(load.text, "cancelled")
    #expect((held.cancelRequest == nil) == (options == .doNotForwardRequest))
    #expect(held.cancelRequest?.options.contains(.forceImmediately) != true)
    held.redirect(to: "/c")

    expectEqual(mock.requests.count, 2)
    expectEqual(mock.pendingCount, 0)
  }

  @Test("A withheld request leaves the load in flight until its last consumer requests as well")
  func others() {
    let held = [mock.hold("/"), mock.hold("/b")]
    let load = api.load(anyRequest())
    let tokens = [load.cancelToken(), load.cancelToken()]

    tokens[0].cancel(.doNotForwardIfOthersWaiting)
    held[0].redirect(to: "/b")
    #expect(mock.requests.count == 2 && held[1].cancelRequest == nil)
    tokens[1].cancel(.doNotForwardIfOthersWaiting)
    #expect(held[1].cancelRequest != nil)
    held[1].redirect(to: "/c")

    expectEqual(load.text, "cancelled")
    expectEqual(mock.requests.count, 2)
    withExtendedLifetime((tokens, held)) {}
  }

  @Test("A load that is cancelled while the policy decides sends nothing more")
  func whileDeciding() {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let held = mock.hold()
    let policy = Redirect.Policy { proposal in
      load.value?.cancel(reason: "while deciding")
      return .follow(proposal.request)
    }
    load.value = (Redirect(policy: policy) --> mock).load(anyRequest())

    held.redirect(to: "/b")

    expectEqual(load.value?.outcomeIfCompleted?.reason, "while deciding")
    expectEqual(mock.requests.count, 1)
    load.value = nil
  }

  @Test("A cancellation request that arrives while the next request is sent reaches that request")
  func whileGoingIn() {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let api =
      Redirect()
      --> ModifyRequest { request in
        if request.path == "/b" { load.value?.cancel() }
      } --> mock
    let held = [mock.hold("/"), mock.hold("/b")]
    load.value = api.load(anyRequest())

    held[0].redirect(to: "/b")

    #expect(held[1].cancelRequest != nil && load.value?.text == "pending")
    held[1].redirect(to: "/c")
    expectEqual(load.value?.text, "cancelled")
    expectEqual(mock.requests.count, 2)
    load.value = nil
  }

  @Test("The policy is not called after a cancellation request")
  func policyIsNotCalled() {
    let log = Recorder()
    let held = mock.hold()
    let policy = Redirect.Policy { proposal in
      log("asked")
      return .follow(proposal.request)
    }
    let load = (Redirect(policy: policy) --> mock).load(anyRequest())

    load.cancel()
    held.redirect(to: "/b")

    expectEqual(load.text, "cancelled")
    #expect(log.entries.isEmpty)
  }

  @Test("A layer that holds the next request completes it")
  func heldByALayer() {
    let pause = Pause()
    let api = Redirect() --> pause --> mock
    mock.on("/", .redirect(to: "/b"))
    let load = api.load(anyRequest())
    pause.goOn()
    expectEqual(pause.count, 1)

    load.cancel()
    pause.goOn()

    expectEqual(load.text, "cancelled")
    expectEqual(pause.count, 0)
    expectEqual(mock.requests.count, 1)
  }

  @Test("A cancellation request that races the response ends the load once, and nothing stays in flight")
  func race() {
    for _ in 0..<500 {
      let mock = MockLoader()
      let held = [mock.hold(), mock.hold(whenCancelled: .complete)]
      let load = (Redirect() --> mock).load(anyRequest())

      DispatchQueue.concurrentPerform(iterations: 2) { side in
        if side == 0 { held[0].redirect(to: "/b") } else { load.cancel() }
      }

      expectEqual(load.text, "cancelled")
      expectEqual(mock.pendingCount, 0)
    }
  }

  @Test("A task that is cancelled between redirects stops, and keeps the progress of all requests")
  func task() {
    let held = [mock.hold(), mock.hold()]
    let task = api.task(for: anyRequest())
    let received = { HTTPProgress(received: .init(completed: $0)) }

    task.start()
    held[0].request?.progress?(received(7))
    held[0].redirect(to: "/b")
    held[1].request?.progress?(received(3))
    task.cancel()
    held[1].redirect(to: "/c")

    expectEqual(task.future.text, "cancelled")
    expectEqual(task.progress, received(7))
    expectEqual(mock.requests.count, 2)
  }

  @Test("Dropping the future cancels nothing, and all redirects are followed")
  func dropped() {
    let held = mock.hold()
    _ = api.load(anyRequest())
    mock.answer()

    held.redirect(to: "/b")

    #expect(mock.sent == ["GET http://example.com/", "GET http://example.com/b"])
  }

  @Test("A reset through Autocancel stops following redirects")
  func autocancel() {
    let held = mock.hold()
    let api = Autocancel() --> Redirect() --> mock
    let load = api.load(anyRequest())

    let reset = api.reset()
    held.redirect(to: "/b")

    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "success")
    expectEqual(mock.requests.count, 1)
  }

  @Test("Nothing of a completed load is retained")
  func freed() {
    final class Canary: Sendable {}
    weak let canary: Canary?
    do {
      let alive = Canary()
      canary = alive
      mock.redirect(to: "/b", "/c")
      let policy = Redirect.Policy { [alive] proposal in withExtendedLifetime(alive) { .follow(proposal.request) } }
      let load = (Redirect(policy: policy) --> mock).load(anyRequest())
      expectEqual(load.text, "success")
    }

    #expect(canary == nil)
  }

  @Test("Many immediate redirects are followed on a small stack and recorded")
  func depth() {
    let turns = LongTest.count(100_000, small: 10_000)
    let load = Locked<Future<HTTPResponse>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      load.value = (Redirect(limit: turns) --> Circle(turns: turns)).load(anyRequest())
      done.signal()
    }
    thread.stackSize = 512 * 1024

    thread.start()
    done.wait()

    expectEqual(load.value?.outcomeIfCompleted?.value?.redirections.count, turns)
  }

  /// Redirects to itself the given number of times and then succeeds, all at once.
  private final class Circle: HTTPLoader {
    private let left: Locked<Int>
    private let headers = try! HTTPHeaders([("Location", "/")])

    init(turns: Int) { left = Locked(turns) }

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      let isOver = left.withLock { left in
        left -= 1
        return left < 0
      }
      return .succeeded(HTTPResponse(to: request, status: HTTPStatus(isOver ? 200 : 302), headers: headers))
    }

    func reset() -> Future<Void> { .succeeded(()) }
  }
}
