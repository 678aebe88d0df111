import TestSupport
import Testing

@testable import FutureTree

@Suite("Cancellation tokens")
struct CancellationTokenTests {
  private let log = Recorder()
  private let source = CancellationTokenSource()

  @Test("A token is cancelled by its source, with the reason and the line of the call")
  func cancelled() {
    let token = source.token
    #expect(!token.isCancelling)
    #expect(token.reason == nil)

    let line: UInt = #line + 1
    source.cancel(reason: "memory is short")

    #expect(token.isCancelling)
    #expect(source.isCancelling)
    expectEqual(token.reason?.message, "memory is short")
    expectEqual(token.reason?.fileID, #fileID)
    expectEqual(token.reason?.line, line)
  }

  @Test("Registered bodies run once, the last first")
  func order() {
    for number in 1...3 { source.token.register { [log] _ in log("\(number)") } }
    expectEqual(log.entries, [])

    source.cancel()
    source.cancel()

    expectEqual(log.entries, ["3", "2", "1"])
  }

  @Test("A body receives the reason")
  func reason() {
    source.token.register { [log] reason in log(reason.message) }

    source.cancel(reason: "why")

    expectEqual(log.entries, ["why"])
  }

  @Test("The first cancel() wins, and later calls return false")
  func firstWins() {
    let answers = [source.cancel(reason: "first"), source.cancel(reason: "second")]

    expectEqual(answers, [true, false])
    expectEqual(source.token.reason?.message, "first")
  }

  @Test("A body registered after the cancellation runs at once")
  func late() {
    source.cancel(reason: "before")

    let registration = source.token.register { [log] reason in log(reason.message) }

    expectEqual(log.entries, ["before"])
    #expect(!registration.remove())
  }

  @Test("A body registered while other bodies run is called at once")
  func whileCancelling() {
    let token = source.token
    token.register { [log] _ in
      token.register { _ in log("inner") }
      log("first")
    }
    token.register { [log] _ in log("second") }

    source.cancel()

    expectEqual(log.entries, ["second", "inner", "first"])
  }

  @Test("A removed registration releases its body without calling it")
  func ended() {
    let census = Census()
    func register(_ probe: Probe) -> CancellationRegistration {
      source.token.register { [log] _ in
        probe.touch()
        log("called")
      }
    }
    let registration = register(census.probe())

    let answers = [registration.remove(), registration.remove()]
    expectEqual(census.alive, 0)
    source.cancel()

    expectEqual(answers, [true, false])
    expectEqual(log.entries, [])
  }

  @Test("A running body can remove another body that has not begun")
  func endedByAnother() {
    let second = Locked<CancellationRegistration?>(nil)
    source.token.register { [log] _ in log("first") }
    second.value = source.token.register { [log] _ in log("second") }
    source.token.register { [log] _ in log("third removes the second: \(second.value?.remove() == true)") }

    source.cancel()

    expectEqual(log.entries, ["third removes the second: true", "first"])
  }

  @Test("A body that removes itself has no effect")
  func endedByItself() {
    let own = Locked<CancellationRegistration?>(nil)
    own.value = source.token.register { [log] _ in log("\(own.value?.remove() == true)") }

    source.cancel()

    expectEqual(log.entries, ["false"])
  }

  @Test("Dropping a registration does not remove its body")
  func droppedRegistration() {
    do { _ = source.token.register { [log] _ in log("called") } }

    source.cancel()

    expectEqual(log.entries, ["called"])
  }

  @Test("A dropped source cancels nothing and releases its registered bodies")
  func droppedSource() {
    let census = Census()
    let dropped = Locked<CancellationTokenSource?>(CancellationTokenSource())
    func register(_ probe: Probe) -> CancellationRegistration? {
      dropped.value?.token.register { [log] _ in
        probe.touch()
        log("called")
      }
    }
    let registration = register(census.probe())
    expectEqual(census.alive, 1)

    dropped.value = nil

    expectEqual(census.alive, 0)
    expectEqual(log.entries, [])
    expectEqual(registration?.remove(), false)
  }

  @Test("A token retains registered bodies after its source was dropped")
  func tokenOutlivesSource() {
    let census = Census()
    var dropped: CancellationTokenSource? = CancellationTokenSource()
    let token = Locked(dropped?.token)
    func register(_ probe: Probe) { token.value?.register { _ in probe.touch() } }
    register(census.probe())

    dropped = nil

    expectEqual(token.value?.isCancelling, false)
    expectEqual(census.alive, 1)
    token.value = nil
    expectEqual(census.alive, 0)
  }

  @Test("Bodies are released after they have run")
  func released() {
    let census = Census()
    func register(_ probe: Probe) -> CancellationRegistration { source.token.register { _ in probe.touch() } }
    let registration = register(census.probe())

    source.cancel()

    expectEqual(census.alive, 0)
    withExtendedLifetime(registration) {}
  }

  @Test("Bodies and their deinits run outside the lock and can use the token")
  func reentrant() {
    let token = source.token
    func register(_ probe: Probe) -> CancellationRegistration { token.register { _ in probe.touch() } }
    let probe = { [log] in Probe { token.register { _ in log("from a deinit") } } }
    token.register { [log] _ in onAnotherThread { log("\(token.isCancelling), \(token.register { _ in }.remove())") } }
    register(probe()).remove()
    _ = register(probe())

    source.cancel()

    expectEqual(log.entries, ["from a deinit", "from a deinit", "true, false"])
  }

  @Test("A completion in a body is delivered after the body")
  func completesAfterwards() {
    let promise = Promise<Int>()
    promise.future.observe { [log] _ in log("told") }
    source.token.register { [log] _ in
      promise.succeed(1)
      log("done")
    }

    source.cancel()

    expectEqual(log.entries, ["done", "told"])
  }

  @Test("`never` is not cancelled and retains nothing")
  func never() {
    let census = Census()
    func register(_ probe: Probe) -> CancellationRegistration {
      CancellationToken.never.register { _ in probe.touch() }
    }

    let registration = register(census.probe())

    expectEqual(census.alive, 0)
    #expect(!registration.remove())
    #expect(!CancellationToken.never.isCancelling)
    expectEqual(CancellationToken.never, CancellationToken.never)
  }

  @Test("Tokens are equal if they have the same source")
  func equality() {
    expectEqual(source.token, source.token)
    #expect(source.token != CancellationTokenSource().token)
    #expect(source.token != .never)
    expectEqual(Set([source.token, source.token, .never]).count, 2)
  }

  @Test("Descriptions of tokens and sources show their state")
  func descriptions() {
    expectEqual("\(source)", "CancellationTokenSource(not cancelled)")
    source.cancel(reason: CancellationReason("why", fileID: "App/A.swift", line: 1))

    expectEqual("\(source.token)", "CancellationToken(cancelled: why (App/A.swift:1))")
    expectEqual("\(CancellationToken.never)", "CancellationToken(never)")
  }

  @Test("Removed registrations leave nothing in a token", .timeLimit(.minutes(20)))
  func flat() {
    let census = Census()
    let token = source.token
    func register(_ probe: Probe) -> CancellationRegistration { token.register { _ in probe.touch() } }
    let stays = token.register { [log] _ in log("stays") }
    weak var entry: AnyObject?

    let count = LongTest.count(1_000_000, small: 100_000)
    for number in 1...count {
      let registration = register(census.probe())
      if number == count / 2 { entry = registration.entry }
      registration.remove()
    }

    expectEqual(census.alive, 0)
    #expect(entry == nil)
    source.cancel()
    expectEqual(log.entries, ["stays"])
    withExtendedLifetime(stays) {}
  }

  @Test("100,000 registrations are removed in linear time, in any order", .timeLimit(.minutes(20)))
  func endsInAnyOrder() {
    let registrations = (0..<100_000).map { number in source.token.register { [log] _ in log("\(number)") } }

    for registration in registrations.shuffled() where registration.remove() {}

    source.cancel()
    expectEqual(log.entries, [])
  }
}
