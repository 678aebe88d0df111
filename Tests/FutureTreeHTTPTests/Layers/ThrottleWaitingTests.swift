import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Throttle, requests that wait, leave and end")
struct ThrottleWaitingTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private static let all: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  private func expectNothingLeft(_ throttle: Throttle) {
    #expect(throttle.isIdle && clock.timerCount == 0 && mock.pendingCount == 0)
  }

  private func withDeadline(_ duration: Duration, _ path: String = "/") -> HTTPRequest {
    var request = anyRequest(path)
    request[option: RequestDeadline.self] = .after(duration, clock: clock)
    return request
  }

  // MARK: H2

  @Test("one that waits leaves when it is asked, ends at once and is never sent", arguments: all)
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
    #expect(mock.requests.map(\.path) == ["/a", "/c"] && loads.map(\.text) == ["success", "cancelled", "success"])
    expectNothingLeft(throttle)
  }

  /// A clock that asks a load to cancel when the timer of its deadline is cancelled: that is after its admission.
  private struct Cancelling: FutureClock {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let options: CancellationOptions

    var now: Duration { .zero }

    func schedule(after _: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
      FutureTimer { load.value?.cancel(options) }
    }
  }

  @Test(
    "one that is asked between its admission and the next loader is not sent, and gives place and token back",
    arguments: all)
  func cancelledAdmitted(options: CancellationOptions) {
    let throttle = Throttle(1, rate: .init(2, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    let deadlines = Cancelling(options: options)
    mock.onOthers(.status(.ok))
    throttle.pause()
    var request = anyRequest("/asked")
    request[option: RequestDeadline.self] = HTTPDeadline(.seconds(1), of: deadlines)
    let asked = api.load(request)
    deadlines.load.value = asked
    let others = ["/b", "/c"].map { api.load(anyRequest($0)) }

    throttle.resume()

    #expect(asked.text == "cancelled" && others.map(\.text) == ["success", "success"])
    #expect(mock.requests.map(\.path) == ["/b", "/c"])
    expectNothingLeft(throttle)
    deadlines.load.value = nil
  }

  @Test("one cancel of all: those that wait behind one that ends by it are not sent")
  func cancelledTogether() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = mock.hold(whenCancelled: .complete)
    let loads = (0..<100).map { api.load(anyRequest("/\($0)")) }

    Future.all(loads).cancel()

    #expect(loads.allSatisfy { $0.text == "cancelled" } && mock.requests.count == 1)
    expectNothingLeft(throttle)
    withExtendedLifetime(held) {}
  }

  @Test("one that is under way is the next loader's, and its place is kept until that is done", arguments: all)
  func cancelledRunning(options: CancellationOptions) {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    loads[0].cancel(options)

    let endsAtOnce = !options.isDisjoint(with: [.forceImmediately, .doNotForwardRequest])
    #expect(loads[0].text == (endsAtOnce ? "cancelled" : "pending"))
    #expect(
      held[0].cancelRequest?.options == (options == .doNotForwardRequest ? nil : options.subtracting(.forceImmediately))
    )
    #expect(throttle.runningCount == 1 && throttle.waitingCount == 1)
    held[0].complete(.cancelled)
    #expect(mock.requests.map(\.path) == ["/a", "/b"])
    held[1].answer()
    #expect(loads.map(\.text) == ["cancelled", "success"])
    expectNothingLeft(throttle)
  }

  @Test("one that is asked while the next loader takes it is asked there, and keeps its place", arguments: all)
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
    #expect(load.value?.text == (endsAtOnce ? "cancelled" : "pending") && throttle.runningCount == 1)
    promise.completeCancelled()
    #expect(load.value?.text == "cancelled")
    expectNothingLeft(throttle)
    load.value = nil
  }

  @Test("who drops a future cancels nothing")
  func dropped() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    for path in ["/a", "/b"] { _ = api.load(anyRequest(path)) }

    held[0].answer()
    held[1].answer()

    #expect(mock.requests.map(\.path) == ["/a", "/b"])
    expectNothingLeft(throttle)
  }

  // MARK: Rate

  @Test("the rate lets a burst begin, and then each at its time; what leaves takes no token")
  func rate() {
    let throttle = Throttle(10, rate: .init(2, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    let loads = ["/a", "/b", "/c", "/d", "/e"].map { api.load(anyRequest($0)) }

    #expect(mock.requests.map(\.path) == ["/a", "/b"] && clock.timerCount == 1)
    loads[2].cancel()
    clock.advance(by: .milliseconds(499))
    #expect(mock.requests.count == 2)
    clock.advance(by: .milliseconds(1))
    #expect(mock.requests.map(\.path) == ["/a", "/b", "/d"])
    clock.advance(by: .milliseconds(500))

    #expect(mock.requests.map(\.path) == ["/a", "/b", "/d", "/e"] && loads.allSatisfy { $0.isCompleted })
    expectNothingLeft(throttle)
  }

  @Test("rate and places are one queue: what is more important overtakes all that has no token yet")
  func rateAndPriority() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    for path in ["/a", "/b", "/c"] { _ = api.load(anyRequest(path)) }
    var urgent = anyRequest("/urgent")
    urgent[option: RequestPriority.self] = .high

    _ = api.load(urgent)
    clock.advance(by: .seconds(3))

    #expect(mock.requests.map(\.path) == ["/a", "/urgent", "/b", "/c"])
    expectNothingLeft(throttle)
  }

  @Test("when the last that waits for a token leaves, or a pause begins, no timer runs")
  func alarm() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(1)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }

    #expect(clock.timerCount == 1)
    throttle.pause()
    #expect(clock.timerCount == 0)
    throttle.resume()
    #expect(clock.timerCount == 1)
    loads[1].cancel()

    expectNothingLeft(throttle)
  }

  // MARK: Deadlines

  @Test("one whose deadline passes while it waits fails at that moment, and leaves the queue")
  func deadline() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = mock.hold()
    let loads = [api.load(anyRequest()), api.load(withDeadline(.seconds(5)))]

    clock.advance(by: .milliseconds(4999))
    #expect(loads[1].text == "pending")
    clock.advance(by: .milliseconds(1))

    #expect(loads[1].text == "deadlineExceeded" && throttle.waitingCount == 0 && clock.timerCount == 0)
    held.answer()
    #expect(mock.requests.count == 1)
    expectNothingLeft(throttle)
  }

  @Test("a deadline ends with the waiting: its timer is cancelled when the request goes on or is cancelled")
  func deadlineTimer() {
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let held = [mock.hold(), mock.hold()]
    let loads = [anyRequest(), withDeadline(.seconds(5)), withDeadline(.seconds(5))].map { api.load($0) }
    #expect(clock.timerCount == 2)

    loads[2].cancel()
    held[0].answer()

    #expect(clock.timerCount == 0)
    clock.advance(by: .seconds(10))
    held[1].answer()
    #expect(loads.map(\.text) == ["success", "success", "cancelled"])
    expectNothingLeft(throttle)
  }

  @Test("one that comes too late, or for which no token can be there in time, fails at once")
  func tooLate() {
    let throttle = Throttle(10, rate: .init(1, per: .seconds(10)), clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))

    let loads = [.zero, .seconds(-1), .seconds(1), .seconds(10), .milliseconds(10_001)].map {
      api.load(withDeadline($0))
    }

    #expect(loads.map(\.text) == ["deadlineExceeded", "deadlineExceeded", "success", "deadlineExceeded", "pending"])
    clock.advance(by: .seconds(10))
    #expect(loads[4].text == "success")
    expectNothingLeft(throttle)
  }

  // MARK: Reset

  @Test("a reset sends away what waits, fills the bucket, resets the next loader, and leaves what is under way")
  func reset() {
    let end = HeldResets()
    let throttle = Throttle(2, rate: .init(2, per: .seconds(60)), clock: clock)
    let api = throttle --> end
    let held = (0..<4).map { _ in end.mock.hold() }
    var loads = [anyRequest(), anyRequest(), withDeadline(.seconds(90))].map { api.load($0) }

    let reset = api.reset()

    #expect(loads.map(\.text) == ["pending", "pending", "cancelled"])
    if case .cancelled(let reason) = loads[2].outcomeIfCompleted { #expect(reason.message == "the chain was reset") }
    #expect(end.resetCount == 1 && throttle.runningCount == 2 && clock.timerCount == 0)
    end.endReset()
    held[0].answer()
    held[1].answer()
    loads += [anyRequest(), anyRequest()].map { api.load($0) }
    #expect(end.mock.requests.count == 4 && reset.text == "success")
    held[2].answer()
    held[3].answer()

    #expect(loads.map(\.text) == ["success", "success", "cancelled", "success", "success"] && throttle.isIdle)
    #expect(clock.timerCount == 0)
  }

  @Test("after a reset, the next token comes when the full bucket says, and not when the old one would have had it")
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
      request[option: BypassesThrottle.self] = true
      return request
    }
    for _ in 0..<2 { _ = api.load(passing("/debt")) }
    let last = passing("/last")
    api.load(anyRequest("/waits")).observe { _ in _ = api.load(last) }
    #expect(clock.nextDeadline == .seconds(20))

    _ = api.reset()
    clock.advance(by: .seconds(10))

    #expect(late.value?.text == "success")
    expectNothingLeft(throttle)
  }

  @Test("a throttle that is dropped breaks the promises of those that wait, and none of them hangs")
  func droppedThrottle() {
    let load = (Throttle(0, clock: clock) --> mock).load(anyRequest())

    guard case .failure(let error) = load.outcomeIfCompleted else { return #expect(Bool(false), "it hangs") }
    #expect(error is BrokenPromise)
  }
}
