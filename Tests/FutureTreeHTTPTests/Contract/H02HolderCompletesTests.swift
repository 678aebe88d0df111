import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The chain of the documentation, with a pause at each of its steps.
@Suite("H2: the holder completes", .tags(.h02))
struct H02HolderCompletesTests {
  private let clock = ManualClock()
  private let end = HeldResets()
  private let server = try! ServerEnvironment(host: "example.com", pathPrefix: "/v1")

  /// The positions of a pause: 0 is in front of the guard, 4 is in front of the transport.
  private static let steps = 0...4
  private static let options: [CancellationOptions] = [[], .doNotForwardIfOthersWaiting, .forceImmediately]

  private func chain(with pause: any HTTPLayer, at step: Int) -> any HTTPLoader {
    let layers: [any HTTPLayer] = [
      ResetGuard(), Autocancel(clock: clock), ApplyEnvironment(server),
      ModifyRequest { request in try request.setHeader("X-Seen", "1") },
    ]
    let all = Array(layers[..<step]) + [pause] + Array(layers[step...])
    return all.reversed().reduce(end as any HTTPLoader) { next, layer in layer --> next }
  }

  /// Expects that no load and no timer is left, and that the chain can be reset and used.
  private func expectNothingLeft(_ api: any HTTPLoader, _ pause: () -> Int, goOn: () -> Void) {
    let reset = api.reset()
    expectEqual(end.resetCount, 1)
    end.endReset()
    expectEqual(reset.text, "success")
    expectEqual(clock.timerCount, 0)
    expectEqual(pause(), 0)
    expectEqual(end.mock.pendingCount, 0)

    end.mock.answer()
    let load = api.load(try! HTTPRequest(.get, path: "after"))
    goOn()
    expectEqual(load.text, "success")
  }

  @Test("A request that is paused at any step goes no further after a cancellation", arguments: steps, options)
  func request(step: Int, options: CancellationOptions) throws {
    let pause = Pause()
    let api = chain(with: pause, at: step)
    let calls = Locked(0)
    let load = api.load(try HTTPRequest(.get, path: "users/1"))
    load.observe { _ in calls.withLock { $0 += 1 } }
    expectEqual(pause.count, 1)

    load.cancel(options)
    pause.goOn()

    expectEqual(load.text, "cancelled")
    expectEqual(calls.value, 1)
    #expect(end.mock.requests.isEmpty)
    expectNothingLeft(api, { pause.count }, goOn: pause.goOn)
  }

  @Test("A response that is paused at any step goes no further after a cancellation", arguments: steps, options)
  func answer(step: Int, options: CancellationOptions) throws {
    let pause = AnswerPause()
    let api = chain(with: pause, at: step)
    let calls = Locked(0)
    end.mock.answer()
    let load = api.load(try HTTPRequest(.get, path: "users/1"))
    load.observe { _ in calls.withLock { $0 += 1 } }
    expectEqual(pause.count, 1)

    load.cancel(options)
    pause.goOn()

    expectEqual(load.text, "cancelled")
    expectEqual(calls.value, 1)
    expectEqual(end.mock.requests.count, 1)
    expectNothingLeft(api, { pause.count }, goOn: pause.goOn)
  }

  @Test("The transport completes the loads that it has accepted", arguments: options)
  func transport(options: CancellationOptions) throws {
    let pause = Pause()
    let api = chain(with: pause, at: 4)
    let held = end.mock.hold()
    let load = api.load(try HTTPRequest(.get, path: "users/1"))
    pause.goOn()

    load.cancel(options)
    expectEqual(load.text, options.contains(.forceImmediately) ? "cancelled" : "pending")
    expectEqual(held.cancelRequest?.options, options.subtracting(.forceImmediately))
    held.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    expectNothingLeft(api, { pause.count }, goOn: pause.goOn)
  }

  @Test("A load continues after `.doNotForwardRequest` and leaves nothing at its end", arguments: steps)
  func doNotForward(step: Int) throws {
    let pause = Pause()
    let api = chain(with: pause, at: step)
    let load = api.load(try HTTPRequest(.get, path: "users/1"))

    load.cancel(.doNotForwardRequest)
    expectEqual(load.text, "cancelled")
    end.mock.answer()
    pause.goOn()

    expectNothingLeft(api, { pause.count }, goOn: pause.goOn)
  }
}
