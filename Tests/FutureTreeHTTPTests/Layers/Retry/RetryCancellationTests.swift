import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Retry, cancellation and resets") struct RetryCancellationTests {
  private let fixture = RetryFixture()
  private var clock: ManualClock { fixture.clock }
  private var mock: MockLoader { fixture.mock }

  private static let all: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  /// Alamofire 2340 and 3408, openai-java 766: the request was sent all the same, or the old error was reported.
  @Test("A load that is cancelled in the back-off ends at once and sends nothing more", arguments: all)
  func inBackOff(options: CancellationOptions) {
    mock.on(.any, .fail(HTTPError(.connectionLost, "")), .status(.ok))
    let load = fixture.api.load(anyRequest())
    expectEqual(clock.timerCount, 1)

    load.cancel(options, reason: "the row is gone")

    guard case .cancelled(let reason) = load.outcomeIfCompleted else { return #expect(Bool(false), "\(load.text)") }
    expectEqual(reason.message, "the row is gone")
    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(60))
    expectEqual(mock.requests.count, 1)
    fixture.expectNothingLeft()
  }

  /// Alamofire 3639: a cancelled attempt was retried. openai-java 766: the attempt did not receive the request.
  @Test(
    "A cancellation request is forwarded to the attempt, whose outcome is final", arguments: [1, 2],
    [
      .cancelled, .failure(HTTPError(.connectionLost, "reported for a cancellation")),
      .failure(HTTPError(.timedOut, "")),
      .success(HTTPResponse(to: anyRequest(), status: .serviceUnavailable)),
      .success(HTTPResponse(to: anyRequest(), status: .ok)),
    ] as [Completion<HTTPResponse>])
  func inAttempt(number: Int, completion: Completion<HTTPResponse>) {
    if number == 2 { mock.on(.any, .status(.serviceUnavailable)) }
    let held = mock.hold()
    let load = fixture.api.load(anyRequest())
    clock.advance(by: .milliseconds(500))

    load.cancel(reason: "the row is gone")
    expectEqual(load.text, "pending")
    expectEqual(held.cancelRequest?.reason.message, "the row is gone")
    held.complete(completion)

    let expected =
      switch completion {
      case .success(let response): "\(response.status)"
      case .failure(let error): "\((error as? HTTPError)?.code.description ?? "")"
      default: "cancelled"
      }
    expectEqual(load.status, expected)
    expectEqual(mock.requests.count, number)
    fixture.expectNothingLeft()
  }

  @Test("A forced load ends at once in an attempt, and the transport receives the request", arguments: [1, 2])
  func force(number: Int) {
    if number == 2 { mock.on(.any, .status(.serviceUnavailable)) }
    let held = mock.hold()
    let load = fixture.api.load(anyRequest())
    clock.advance(by: .milliseconds(500))

    load.cancel(.forceImmediately)
    expectEqual(load.text, "cancelled")
    expectEqual(held.cancelRequest?.options, [])
    held.complete(.failure(HTTPError(.connectionLost, "")))

    clock.advance(by: .seconds(60))
    expectEqual(mock.requests.count, number)
    fixture.expectNothingLeft()
  }

  @Test("An attempt continues after `.doNotForwardRequest`, and no other follows")
  func detached() {
    let held = mock.hold()
    let load = fixture.api.load(anyRequest())

    load.cancel(.doNotForwardRequest)
    expectEqual(load.text, "cancelled")
    #expect(held.cancelRequest == nil)
    held.complete(.failure(HTTPError(.connectionLost, "")))

    clock.advance(by: .seconds(60))
    expectEqual(mock.requests.count, 1)
    fixture.expectNothingLeft()
  }

  @Test("A load with other consumers continues through attempts and back-offs")
  func othersWaiting() {
    mock.on(.any, .status(.serviceUnavailable), .status(.ok))
    let load = fixture.api.load(anyRequest())
    let tokens = [load.cancelToken(), load.cancelToken()]

    tokens[0].cancel(.doNotForwardIfOthersWaiting)
    clock.advance(by: .seconds(1))

    expectEqual(load.status, "200")
    withExtendedLifetime(tokens) {}
    fixture.expectNothingLeft()
  }

  @Test("An attempt that does not begin is put back into the budget", arguments: all, [0, 1])
  func budget(options: CancellationOptions, seconds: Int) {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let fixture = RetryFixture(
      RetryStrategy { _ in
        if seconds == 0 { load.value?.cancel(options) }
        return .seconds(seconds)
      }, budget: RetryBudget(reserve: 1))
    for _ in 0..<3 {
      let held = fixture.mock.hold()
      load.value = fixture.api.load(anyRequest())

      held.complete(.failure(HTTPError(.connectionLost, "")))
      load.value?.cancel(options)

      expectEqual(load.value?.text, "cancelled")
      #expect(fixture.retry.isIdle)
    }
    expectEqual(fixture.attempts, [1, 1, 1])
    load.value = nil
    fixture.expectNothingLeft()
  }

  /// elasticsearch 45379: a cancellation between the check and the attempt.
  @Test("A load that the strategy cancels makes no further attempt", arguments: all, [0, 1])
  func fromStrategy(options: CancellationOptions, seconds: Int) {
    let load = Locked<Future<HTTPResponse>?>(nil)
    let fixture = RetryFixture(
      RetryStrategy { _ in
        load.value?.cancel(options)
        return .seconds(seconds)
      })
    let held = fixture.mock.hold()
    load.value = fixture.api.load(anyRequest())

    held.complete(.failure(HTTPError(.connectionLost, "")))
    fixture.clock.advance(by: .seconds(60))

    expectEqual(load.value?.text, "cancelled")
    expectEqual(fixture.mock.requests.count, 1)
    load.value = nil
    fixture.expectNothingLeft()
  }

  @Test("A load that is cancelled as its back-off ends makes no further attempt", arguments: all)
  func whenTimerFires(options: CancellationOptions) {
    mock.on(.any, .status(.serviceUnavailable).forever())
    let loads = Locked<[Future<HTTPResponse>]>([])
    let timer = clock.schedule(after: .milliseconds(500)) { for load in loads.value { load.cancel(options) } }
    loads.value = [fixture.api.load(anyRequest())]

    clock.advance(by: .seconds(60))

    expectEqual(loads.value.map(\.text), ["cancelled"])
    expectEqual(mock.requests.count, 1)
    loads.value = []
    fixture.expectNothingLeft()
    withExtendedLifetime(timer) {}
  }

  @Test("A cancellation request during `load` of the next attempt reaches it, and no other follows")
  func onTheStack() {
    let load = Locked<Future<HTTPResponse>?>(nil)
    mock.on(
      .any, .status(.serviceUnavailable),
      .make { request in
        load.value?.cancel()
        throw HTTPError(.connectionLost, "")
      })
    load.value = fixture.api.load(anyRequest())

    clock.advance(by: .seconds(60))

    expectEqual(load.value?.text, "connectionLost")
    expectEqual(mock.requests.count, 2)
    load.value = nil
    fixture.expectNothingLeft()
  }

  @Test("A dropped future cancels nothing")
  func dropped() {
    mock.on(.any, .status(.serviceUnavailable), .status(.ok))
    _ = fixture.api.load(anyRequest())

    clock.advance(by: .seconds(1))

    expectEqual(mock.requests.count, 2)
    fixture.expectNothingLeft()
  }

  @Test("After `cancel` returns on another thread, at most the attempt that was about to begin is made")
  func threads() async {
    for _ in 0..<100 {
      let fixture = RetryFixture(.immediately(attempts: 30), budget: nil)
      let (isCancelled, late) = (Locked(false), Locked(0))
      fixture.mock.on(
        .any,
        .make { _ in
          if isCancelled.value { late.withLock { $0 += 1 } }
          throw HTTPError(.connectionLost, "")
        }.forever())
      let start = Promise<Void>()
      let api = ModifyRequest.deferred { request in start.future.map { request } } --> fixture.api
      let future = api.load(anyRequest())

      async let run: Void = { start.succeed() }()
      async let cancel: Void = {
        future.cancel(.forceImmediately)
        isCancelled.value = true
      }()
      _ = await (run, cancel)
      _ = await future.outcome

      #expect(late.value <= 1)
      fixture.expectNothingLeft()
    }
  }

  @Test("A reset cancels waiting loads, fills the budgets, and resets the next loader")
  func reset() {
    let end = HeldResets()
    let api = fixture.retry --> end
    end.mock.on(.any, .status(.serviceUnavailable).times(2))
    let loads = [api.load(anyRequest()), api.load(anyRequest())]

    let reset = api.reset()

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(clock.timerCount, 0)
    guard case .cancelled(let reason) = loads[0].outcomeIfCompleted else { return #expect(Bool(false)) }
    expectEqual(reason.message, "the chain was reset")
    expectEqual(reason.kind, .reset)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "pending")
    end.endReset()
    expectEqual(reset.text, "success")
    #expect(fixture.retry.isIdle)
    clock.advance(by: .seconds(60))
    expectEqual(end.mock.requests.count, 2)
  }

  @Test("An attempt from before a reset is the last, and changes no budget", arguments: [503, 200])
  func lateResult(status: Int) {
    let fixture = RetryFixture(.immediately(), budget: RetryBudget(reserve: 1, perSuccess: 1))
    let held = fixture.mock.hold()
    let load = fixture.api.load(anyRequest())

    _ = (fixture.retry --> MockLoader()).reset()
    fixture.mock.onOthers(.status(.serviceUnavailable))
    _ = fixture.api.load(anyRequest("/spends"))
    expectEqual(fixture.mock.requests.count, 3)
    held.answer(status: HTTPStatus(status))

    expectEqual(load.status, "\(status)")
    expectEqual(fixture.mock.requests.count, 3)
    _ = fixture.api.load(anyRequest("/spends"))
    expectEqual(fixture.mock.requests.count, 4)
    fixture.expectNothingLeft()
  }

  @Test("A reset from the strategy prevents the next attempt", arguments: [0, 1])
  func resetFromStrategy(seconds: Int) {
    let chain = Locked<(any HTTPLoader)?>(nil)
    let fixture = RetryFixture(
      RetryStrategy { _ in
        _ = chain.value?.reset()
        return .seconds(seconds)
      })
    chain.value = (fixture.retry --> MockLoader())
    fixture.mock.on(.any, .status(.serviceUnavailable).forever())

    let load = fixture.api.load(anyRequest())
    fixture.clock.advance(by: .seconds(60))

    expectEqual(load.status, "503")
    expectEqual(fixture.mock.requests.count, 1)
    chain.value = nil
    fixture.expectNothingLeft()
  }

  @Test("In the chain of the documentation, a reset drains attempts and back-offs, and loads work afterward")
  func wholeChain() {
    let api = ResetGuard() --> Autocancel(clock: clock) --> fixture.api
    let held = mock.hold("/held")
    mock.on("/waits", .status(.serviceUnavailable), .status(.ok))
    let loads = ["/held", "/waits"].map { api.load(anyRequest($0)) }

    let reset = api.reset()
    held.complete(.cancelled)

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(reset.text, "success")
    expectEqual(api.load(anyRequest("/waits")).status, "200")
    fixture.expectNothingLeft()
  }
}
