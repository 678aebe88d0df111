import FutureTree
import TestSupport
import Testing

@Suite("Law 3: doNotForwardIfOthersWaiting")
struct Law03OthersWaitingTests {
  @Test("the request stops at a future that another consumer wants, whose work goes on")
  func stopsAtSharedFuture() {
    let log = Recorder()
    let promise = source(log)
    let asker = promise.future.map { $0 }
    let other = promise.future.map { $0 + 1 }

    asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == [])
    #expect(promise.future.cancelRequest == nil)
    promise.succeed(1)
    #expect(other.state == "success(2)")
  }

  @Test("the branch that only the asker wanted completes cancelled at once, with the reason")
  func branchEnds() {
    let promise = Promise<Int>()
    let first = promise.future.map { $0 }
    let second = first.flatMap { .succeeded($0) }
    let third = second.recover { error in throw error }
    let other = promise.future.map { $0 }

    third.cancel(.doNotForwardIfOthersWaiting, reason: "left")

    #expect([first.state, second.state, third.state] == ["cancelled", "cancelled", "cancelled"])
    #expect(third.reason?.message == "left")
    #expect(other.state == "pending")
    #expect(promise.future.state == "pending")
  }

  @Test("every operator's branch ends at once when others want its upstream", arguments: Step.every)
  func everyOperator(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let asker = step.apply(promise.future)
    let other = promise.future.map { $0 }

    asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(asker.state == "cancelled")
    #expect(other.state == "pending")
    #expect(log.entries == [])
  }

  @Test("where nobody else waits it forwards like any request", arguments: Step.every)
  func nobodyElse(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let asker = step.apply(promise.future)

    asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["source: ifOthers"])
    #expect(asker.state == "pending")
  }

  @Test("the target counts: it stops there if a consumer of the target waits")
  func targetIncluded() {
    let log = Recorder()
    let promise = source(log)
    let consumer = promise.future.map { $0 }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 1))
    #expect(log.entries == [])
    #expect([promise.future.state, consumer.state] == ["pending", "pending"])
  }

  @Test("it stops at the first such future on its way, not only at the source")
  func stopsInTheMiddle() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let asker = middle.map { $0 }
    let other = middle.map { $0 }

    asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == [])
    #expect(middle.cancelRequest == nil)
    #expect([middle.state, asker.state, other.state] == ["pending", "cancelled", "pending"])
  }

  @Test("it goes before force: a future that others want is not forced")
  func beforeForce() {
    let log = Recorder()
    let promise = source(log)
    let consumer = promise.future.map { $0 }

    let receipt = promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately])

    #expect(receipt.effect == .withheld(by: 1))
    #expect(log.entries == [])
    #expect([promise.future.state, consumer.state] == ["pending", "pending"])
  }

  @Test("with force where nobody waits, the target is forced")
  func forceWhereNobodyWaits() {
    let log = Recorder()
    let promise = source(log)

    promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately])

    #expect(promise.future.state == "cancelled")
    #expect(log.entries == ["source: ifOthers+force"])
  }

  @Test("a token asks as itself: the only token is delivered")
  func tokenAsksAsItself() {
    let log = Recorder()
    let promise = source(log)
    let token = promise.future.cancelToken()

    let receipt = token.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("a token is withheld by another token, by a derived future and by both")
  func tokenAmongOthers() {
    let log = Recorder()
    let promise = source(log)
    let asker = promise.future.cancelToken()
    let token = promise.future.cancelToken()
    let derived = promise.future.map { $0 }

    let receipt = asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 2))
    #expect(log.entries == [])
    withExtendedLifetime((token, derived)) {}
  }

  @Test("the future itself asks as nobody: every consumer is another")
  func futureAsksAsNobody() {
    let log = Recorder()
    let promise = source(log)
    let token = promise.future.cancelToken()

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 1))
    #expect(log.entries == [])
    withExtendedLifetime(token) {}
  }

  @Test("a token that asked wants no longer")
  func tokenThatAsked() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.cancelToken()
    let second = promise.future.cancelToken()
    first.cancel(.doNotForwardIfOthersWaiting)

    let receipt = second.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: ifOthers"])
    withExtendedLifetime(first) {}
  }

  @Test("an awaiting task asks as itself")
  func taskAsksAsItself() {
    let log = Recorder()
    let promise = source(log)
    let executor = ManualTaskExecutor()
    let task = executor.start { _ = try? await promise.future.value }

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["source: ifOthers"])
  }
}
