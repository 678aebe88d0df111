import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect, when it is asked to cancel, and how it gets on")
struct RedirectCancellationTests {
  private let mock = MockLoader()
  private var api: any HTTPLoader { Redirect() --> mock }

  @Test("a request to cancel goes to the request under way, with its options and reason", arguments: [0, 1, 5])
  func forwarded(hops: Int) {
    for _ in 0..<hops { mock.on(.any, .redirect(to: "/b")) }
    let held = mock.hold()
    let load = api.load(anyRequest())

    let receipt = load.cancel(reason: "enough")

    #expect(held.cancelRequest?.reason.message == "enough" && load.text == "pending" && receipt.effect == .delivered)
    held.complete(.cancelled)
    #expect(load.text == "cancelled" && mock.requests.count == hops + 1)
  }

  @Test("an answer that comes after it is not followed", arguments: [0, 1], [301, 302, 303, 307, 308])
  func notFollowed(hops: Int, status: Int) {
    for _ in 0..<hops { mock.on(.any, .redirect(to: "/b")) }
    let held = mock.hold()
    let load = api.load(anyRequest())
    load.cancel(reason: "enough")

    held.redirect(status, to: "/c")

    #expect(load.outcomeIfCompleted?.reason == "enough")
    #expect(mock.requests.count == hops + 1)
  }

  @Test("an answer that comes after it and leads nowhere is the outcome: a success that was faster stays one")
  func faster() {
    mock.on(.any, .redirect(to: "/b"))
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.answer(body: "done")

    #expect(load.outcomeIfCompleted?.value?.redirections.count == 1)
  }

  @Test("a failure that comes after it is the outcome")
  func failure() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.complete(.failure(Oops()))

    #expect(load.text == "oops" && mock.requests.count == 1)
  }

  @Test(
    "who forces it or lets go of it has ended; what comes back is not followed",
    arguments: [.forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func ended(options: CancellationOptions) {
    mock.on(.any, .redirect(to: "/b"))
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(options)
    #expect(load.text == "cancelled")
    #expect((held.cancelRequest == nil) == (options == .doNotForwardRequest))
    #expect(held.cancelRequest?.options.contains(.forceImmediately) != true)
    held.redirect(to: "/c")

    #expect(mock.requests.count == 2 && mock.pendingCount == 0)
  }

  @Test("a request that stops where others wait leaves it going, until nobody wants it")
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

    #expect(load.text == "cancelled" && mock.requests.count == 2)
    withExtendedLifetime((tokens, held)) {}
  }

  @Test("a request that comes while the policy decides is known to it: nothing is sent")
  func whileDeciding() {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let held = mock.hold()
    let policy = Redirect.Policy { proposal in
      load.value?.cancel(reason: "while deciding")
      return .follow(proposal.request)
    }
    load.value = (Redirect(policy: policy) --> mock).load(anyRequest())

    held.redirect(to: "/b")

    #expect(load.value?.outcomeIfCompleted?.reason == "while deciding")
    #expect(mock.requests.count == 1)
    load.value = nil
  }

  @Test("a request that comes while the next request goes in is given to it")
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
    #expect(load.value?.text == "cancelled" && mock.requests.count == 2)
    load.value = nil
  }

  @Test("the policy is not asked after a request to cancel")
  func policyIsNotAsked() {
    let log = Recorder()
    let held = mock.hold()
    let policy = Redirect.Policy { proposal in
      log("asked")
      return .follow(proposal.request)
    }
    let load = (Redirect(policy: policy) --> mock).load(anyRequest())

    load.cancel()
    held.redirect(to: "/b")

    #expect(load.text == "cancelled" && log.entries.isEmpty)
  }

  @Test("a layer that holds the next request back completes it itself")
  func heldByALayer() {
    let pause = Pause()
    let api = Redirect() --> pause --> mock
    mock.on("/", .redirect(to: "/b"))
    let load = api.load(anyRequest())
    pause.goOn()
    #expect(pause.count == 1)

    load.cancel()
    pause.goOn()

    #expect(load.text == "cancelled" && pause.count == 0 && mock.requests.count == 1)
  }

  @Test("a request to cancel that races the answer ends the load once, and leaves nothing under way")
  func race() {
    for _ in 0..<500 {
      let mock = MockLoader()
      let held = [mock.hold(), mock.hold(whenCancelled: .complete)]
      let load = (Redirect() --> mock).load(anyRequest())

      DispatchQueue.concurrentPerform(iterations: 2) { side in
        if side == 0 { held[0].redirect(to: "/b") } else { load.cancel() }
      }

      #expect(load.text == "cancelled" && mock.pendingCount == 0)
    }
  }

  @Test("a task that is cancelled on the way stops it, and has the progress of all of it")
  func task() {
    let held = [mock.hold(), mock.hold()]
    let task = api.task(for: anyRequest())
    let received = { HTTPProgress(received: .init(completed: $0)) }

    task.start()
    held[0].request?[option: ProgressHandler.self]?(received(7))
    held[0].redirect(to: "/b")
    held[1].request?[option: ProgressHandler.self]?(received(3))
    task.cancel()
    held[1].redirect(to: "/c")

    #expect(task.future.text == "cancelled" && task.progress == received(7) && mock.requests.count == 2)
  }

  @Test("dropping the future cancels nothing, and the way goes to its end")
  func dropped() {
    let held = mock.hold()
    _ = api.load(anyRequest())
    mock.answer()

    held.redirect(to: "/b")

    #expect(mock.sent == ["GET http://example.com/", "GET http://example.com/b"])
  }

  @Test("a reset through Autocancel ends the way")
  func autocancel() {
    let held = mock.hold()
    let api = Autocancel() --> Redirect() --> mock
    let load = api.load(anyRequest())

    let reset = api.reset()
    held.redirect(to: "/b")

    #expect(load.text == "cancelled" && reset.text == "success" && mock.requests.count == 1)
  }

  @Test("after the end nothing of the load is kept")
  func freed() {
    final class Canary: Sendable {}
    weak let canary: Canary?
    do {
      let alive = Canary()
      canary = alive
      mock.redirect(to: "/b", "/c")
      let policy = Redirect.Policy { [alive] proposal in withExtendedLifetime(alive) { .follow(proposal.request) } }
      let load = (Redirect(policy: policy) --> mock).load(anyRequest())
      #expect(load.text == "success")
    }

    #expect(canary == nil)
  }

  @Test("many answers that are there at once are followed on a small stack, and their way is known")
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

    #expect(load.value?.outcomeIfCompleted?.value?.redirections.count == turns)
  }

  /// Leads back so many times, and then has an answer; all at once.
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
