import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Throttle, waiting, cancellation and resets")
struct ThrottleWaitingTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private static let all: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  private func expectNothingLeft(_ throttle: Throttle) {
    #expect(throttle.isIdle)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.pendingCount, 0)
  }

  private func withDeadline(_ duration: Duration, _ path: String = "/") -> HTTPRequest {
    var request = anyRequest(path)
    request.deadline = .after(duration, clock: clock)
    return request
  }

  // MARK: H2 (the holder completes)

  @Test("A waiting load that is cancelled leaves the queue, ends at once and is never sent", arguments: all)
  func cancelledWaiting(options: CancellationOptions) {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let loads = ["/a", "/b", "/c"].map { api.load(anyRequest($0)) }

    loads[1].cancel(options, reason: "not wanted")

    #expect(loads[1].text == "cancelled" && throttle.waitingCount == 1)
    #expect(held[0].cancelRequest == nil)
    held[0].answer()
    held[1].answer()
    expectEqual(mock.requests.map(\.path), ["/a", "/c"])
    expectEqual(loads.map(\.text), ["success", "cancelled", "success"])
    expectNothingLeft(throttle)
  }

  /// A clock that cancels a load when the timer of its deadline is cancelled, which is after its admission.
  private struct Cancelling: FutureClock {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let options: CancellationOptions

    var now: Duration { .zero }

    func schedule(after _: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
      FutureTimer { load.value?.cancel(options) }
    }
  }

  @Test(
    "A load that is cancelled between admission and the next loader is not sent, and returns slot and token",
    arguments: all)
  func cancelledAdmitted(options: CancellationOptions) {
    let throttle = Throttle(1, rate: .init(2, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    let deadlines = Cancelling(options: options)
    mock.onOthers(.status(.ok))
    throttle.pause()
    var request = anyRequest("/asked")
    request.deadline = FutureDeadline(.seconds(1), of: deadlines)
    let cancelled = api.load(request)
    deadlines.load.value = cancelled
    let others = ["/b", "/c"].map { api.load(anyRequest($0)) }

    throttle.resume()

    expectEqual(cancelled.text, "cancelled")
    expectEqual(others.map(\.text), ["success", "success"])
    expectEqual(mock.requests.map(\.path), ["/b", "/c"])
    expectNothingLeft(throttle)
    deadlines.load.value = nil
  }

  @Test("Loads that are cancelled together are not sent when the one before them ends")
  func cancelledTogether() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = mock.hold(whenCancelled: .complete)
    let loads = (0..<100).map { api.load(anyRequest("/\($0)")) }

    Future.all(loads).cancel()

    #expect(loads.allSatisfy { $0.text == "cancelled" })
    expectEqual(mock.requests.count, 1)
    expectNothingLeft(throttle)
    withExtendedLifetime(held) {}
  }

  @Test("A running load that is cancelled keeps its slot until the next loader completes it", arguments: all)
  func cancelledRunning(options: CancellationOptions) {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    loads[0].cancel(options)

    let endsAtOnce = !options.isDisjoint(with: [.forceImmediately, .doNotForwardRequest])
    expectEqual(loads[0].text, endsAtOnce ? "cancelled" : "pending")
    expectEqual(
      held[0].cancelRequest?.options, (options == .doNotForwardRequest ? nil : options.subtracting(.forceImmediately)))
    expectEqual(throttle.runningCount, 1)
    expectEqual(throttle.waitingCount, 1)
    held[0].complete(.cancelled)
    expectEqual(mock.requests.map(\.path), ["/a", "/b"])
    held[1].answer()
    expectEqual(loads.map(\.text), ["cancelled", "success"])
    expectNothingLeft(throttle)
  }

  @Test(
    "A load that is cancelled while the next loader takes it is cancelled there, and keeps its slot", arguments: all)
  func cancelledGoingIn(options: CancellationOptions) {
    let throttle = Throttle(1, clock: clock)
    let load = Locked<Future<HTTPResponse>?>(nil)
    let promise = Promise<HTTPRequest>()
    let layer = ModifyRequest.deferred { _ in
      load.value?.cancel(options)
      return promise.future
    }
    let api = throttle --> layer --> mock
    throttle.limit = 0
    load.value = api.load(anyRequest())

    throttle.limit = 1

    #expect(mock.requests.isEmpty && (promise.cancelRequest == nil) == (options == .doNotForwardRequest))
    let endsAtOnce = !options.isDisjoint(with: [.forceImmediately, .doNotForwardRequest])
    expectEqual(load.value?.text, endsAtOnce ? "cancelled" : "pending")
    expectEqual(throttle.runningCount, 1)
    promise.completeCancelled()
    expectEqual(load.value?.text, "cancelled")
    expectNothingLeft(throttle)
    load.value = nil
  }

  @Test("Dropping a future cancels nothing")
  func dropped() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    for path in ["/a", "/b"] { _ = api.load(anyRequest(path)) }

    held[0].answer()
    held[1].answer()

    expectEqual(mock.requests.map(\.path), ["/a", "/b"])
    expectNothingLeft(throttle)
  }

  // MARK: Rate

  @Test("A rate admits a burst and then one request per interval, and a cancelled request takes no token")
  func rate() {
    let throttle = Throttle(10, rate: .init(2, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    let loads = ["/a", "/b", "/c", "/d", "/e"].map { api.load(anyRequest($0)) }

    expectEqual(mock.requests.map(\.path), ["/a", "/b"])
    expectEqual(clock.timerCount, 1)
    loads[2].cancel()
    clock.advance(by: .milliseconds(499))
    expectEqual(mock.requests.count, 2)
    clock.advance(by: .milliseconds(1))
    expectEqual(mock.requests.map(\.path), ["/a", "/b", "/d"])
    clock.advance(by: .milliseconds(500))

    expectEqual(mock.requests.map(\.path), ["/a", "/b", "/d", "/e"])
    #expect(loads.allSatisfy { $0.isCompleted })
    expectNothingLeft(throttle)
  }

  @Test("Rate and slots share one queue: a higher priority overtakes every request without a token")
  func rateAndPriority() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    for path in ["/a", "/b", "/c"] { _ = api.load(anyRequest(path)) }
    var urgent = anyRequest("/urgent")
    urgent.priority = .high

    _ = api.load(urgent)
    clock.advance(by: .seconds(3))

    expectEqual(mock.requests.map(\.path), ["/a", "/urgent", "/b", "/c"])
    expectNothingLeft(throttle)
  }

  @Test("No timer runs after the last waiting request is cancelled, or during a pause")
  func alarm() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    expectEqual(clock.timerCount, 1)
    throttle.pause()
    expectEqual(clock.timerCount, 0)
    throttle.resume()
    expectEqual(clock.timerCount, 1)
    loads[1].cancel()

    expectNothingLeft(throttle)
  }

  // MARK: Deadlines

  @Test("A waiting request fails when its deadline passes, and leaves the queue")
  func deadline() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = mock.hold()
    let loads = [api.load(anyRequest()), api.load(withDeadline(.seconds(5)))]

    clock.advance(by: .milliseconds(4999))
    expectEqual(loads[1].text, "pending")
    clock.advance(by: .milliseconds(1))

    #expect(loads[1].text == "deadlineExceeded" && throttle.waitingCount == 0 && clock.timerCount == 0)
    held.answer()
    expectEqual(mock.requests.count, 1)
    expectNothingLeft(throttle)
  }

  @Test("The timer of a deadline is cancelled when the request begins or is cancelled")
  func deadlineTimer() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let loads = [anyRequest(), withDeadline(.seconds(5)), withDeadline(.seconds(5))].map { api.load($0) }
    expectEqual(clock.timerCount, 2)

    loads[2].cancel()
    held[0].answer()

    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(10))
    held[1].answer()
    expectEqual(loads.map(\.text), ["success", "success", "cancelled"])
    expectNothingLeft(throttle)
  }

  @Test("A request fails at once if its deadline has passed or no token is due before it")
  func tooLate() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(10)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))

    let loads = [.zero, .seconds(-1), .seconds(1), .seconds(10), .milliseconds(10_001)].map {
      api.load(withDeadline($0))
    }

    expectEqual(loads.map(\.text), ["deadlineExceeded", "deadlineExceeded", "success", "deadlineExceeded", "pending"])
    clock.advance(by: .seconds(10))
    expectEqual(loads[4].text, "success")
    expectNothingLeft(throttle)
  }

  // MARK: Reset

  @Test("A reset cancels waiting loads, fills the bucket, resets the next loader, and keeps running loads")
  func reset() {
    let end = HeldResets()
    let throttle = Throttle(2, rate: .init(2, per: .seconds(60)), clock: clock)
    let api = throttle --> end
    let held = (0..<4).map { _ in end.mock.hold() }
    var loads = [anyRequest(), anyRequest(), withDeadline(.seconds(90))].map { api.load($0) }

    let reset = api.reset()

    expectEqual(loads.map(\.text), ["pending", "pending", "cancelled"])
    if case .cancelled(let reason) = loads[2].outcomeIfCompleted { expectEqual(reason.kind, .reset) }
    expectEqual(end.resetCount, 1)
    expectEqual(throttle.runningCount, 2)
    expectEqual(clock.timerCount, 0)
    end.endReset()
    held[0].answer()
    held[1].answer()
    loads += [anyRequest(), anyRequest()].map { api.load($0) }
    expectEqual(end.mock.requests.count, 4)
    expectEqual(reset.text, "success")
    held[2].answer()
    held[3].answer()

    expectEqual(loads.map(\.text), ["success", "success", "cancelled", "success", "success"])
    #expect(throttle.isIdle)
    expectEqual(clock.timerCount, 0)
  }

  @Test("After a reset, the next token is due by the full bucket")
  func resetAlarm() {
    let throttle = Throttle(9, rate: .init(1, per: .seconds(10)), clock: clock)
    let api = throttle --> mock
    let late = Locked<Future<HTTPResponse>?>(nil)
    mock.on(
      "/last",
      .make { request in
        late.value = api.load(anyRequest("/late"))
        return HTTPResponse(to: request, status: .ok)
      })
    mock.onOthers(.status(.ok))
    func passing(_ path: String) -> HTTPRequest {
      var request = anyRequest(path)
      request.bypassesThrottle = true
      return request
    }
    for _ in 0..<2 { _ = api.load(passing("/debt")) }
    let last = passing("/last")
    api.load(anyRequest("/waits")).observe { _ in _ = api.load(last) }
    expectEqual(clock.nextDeadline, .seconds(20))

    _ = api.reset()
    clock.advance(by: .seconds(10))

    expectEqual(late.value?.text, "success")
    expectNothingLeft(throttle)
  }

  @Test("A deallocated throttle breaks the promises of the waiting requests")
  func droppedThrottle() {
    let load = (Throttle(0, clock: clock) --> mock).load(anyRequest())

    guard case .failure(let error) = load.outcomeIfCompleted else {
      return #expect(Bool(false), "The load never completes.")
    }
    #expect(error is BrokenPromise)
  }
}
