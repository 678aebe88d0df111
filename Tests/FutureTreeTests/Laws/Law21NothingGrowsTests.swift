import FutureTree
import Testing

@Suite("Law 21: nothing grows")
struct Law21NothingGrowsTests {
  private let census = Census()

  @Test("a future that lives long holds what is registered now: 10,000 observers that ended")
  func observers() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> FutureObservation {
      promise.future.observe { _ in probe.touch() }
    }

    for _ in 0..<10_000 { attach(census.probe()).remove() }

    #expect(census.alive == 0)
  }

  @Test("10,000 handlers that ended")
  func handlers() {
    let promise = Promise<Int>()
    func install(_ probe: Probe) -> CancelHandler {
      promise.onRequestCancel { _ in
        probe.touch()
        return .continue
      }
    }

    for _ in 0..<10_000 { install(census.probe()).remove() }

    #expect(census.alive == 0)
  }

  @Test("10,000 consumers that let go")
  func consumers() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> Future<Int> {
      promise.future.map { value in
        probe.touch()
        return value
      }
    }

    for _ in 0..<10_000 { attach(census.probe()).cancel(.doNotForwardRequest) }

    #expect(census.alive == 0)
    #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .stored)
  }

  @Test("10,000 tokens that asked and went, while one stays")
  func tokens() {
    let promise = Promise<Int>()
    let stays = promise.future.cancelToken()

    for _ in 0..<10_000 { promise.future.cancelToken().cancel(.doNotForwardIfOthersWaiting) }

    #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 1))
    withExtendedLifetime(stays) {}
  }

  @Test("10,000 tasks that were cancelled while they waited")
  func tasks() {
    let executor = ManualTaskExecutor()
    let promise = Promise<Int>()
    let future = promise.future
    let stays = future.cancelToken()

    for _ in 0..<10_000 {
      executor.start { _ = try? await future.value }.cancel()
      executor.runAll()
    }

    #expect(future.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 1))
    withExtendedLifetime(stays) {}
  }

  @Test("a token that lives long does not keep what its future was made of")
  func longToken() {
    let promise = Promise<Probe>()
    func attach(_ probe: Probe) -> CancelToken {
      promise.future.map { value in
        probe.touch()
        return value
      }.map { _ in 1 }.cancelToken()
    }
    let token = attach(census.probe())

    promise.succeed(census.probe())

    // The promise's own future still has its value.
    #expect(census.alive == 1)
    withExtendedLifetime((promise, token)) {}
  }

  @Test("the handle of an observation keeps nothing alive after completion")
  func observationHandle() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> FutureObservation {
      promise.future.observe { _ in probe.touch() }
    }
    let observation = attach(census.probe())

    promise.succeed(1)

    #expect(census.alive == 0)
    observation.remove()
  }

  @Test("the handle of a handler keeps nothing alive after completion")
  func handlerHandle() {
    let promise = Promise<Int>()
    let handler = promise.onRequestCancel(holding: census.probe())

    promise.succeed(1)

    #expect(census.alive == 0)
    handler.remove()
  }

  @Test("the handle of a handler that ran keeps nothing alive")
  func handlerThatRan() {
    let promise = Promise<Int>()
    let handler = promise.onRequestCancel(holding: census.probe())

    promise.future.cancel()

    #expect(census.alive == 0)
    handler.remove()
  }

  @Test("a request that is kept keeps nothing of its future alive after completion")
  func keptRequest() {
    let kept = Locked<ReceivedCancelRequest<Probe>?>(nil)
    do {
      let promise = Promise<Probe>()
      promise.onRequestCancel { request in
        kept.value = request
        return .continue
      }
      promise.future.cancel()
      promise.succeed(census.probe())
    }

    // The request may hold its future, and so its value, until it is let go: then nothing is left.
    kept.value = nil
    #expect(census.alive == 0)
  }

  @Test("a token keeps neither the value nor the future of a completed future alive")
  func token() {
    let census = Census()
    var promise: Promise<Probe>? = Promise<Probe>()
    let token = promise?.future.cancelToken()
    let asked = promise?.future.cancelToken()
    asked?.cancel(.doNotForwardIfOthersWaiting)

    promise?.succeed(census.probe())
    promise = nil

    #expect(census.alive == 0)
    #expect(token?.cancel().effect == .tooLate(.succeeded))
    #expect(asked?.cancel().effect == .tooLate(.succeeded))
  }
}
