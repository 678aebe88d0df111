import FutureTree
import TestSupport
import Testing

@Suite("Stress: cancellation tokens")
struct StressTokenTests {
  private struct Round: Sendable {
    let first = CancellationTokenSource()
    let second = CancellationTokenSource()
    let winners = Recorder()
    let calls = Recorder()
    let held = Locked<[CancellationTokenSource]>([])
    let registration = Locked<CancellationRegistration?>(nil)

    func registering() -> Round {
      registration.value = first.token.register { [calls] _ in calls("called") }
      return self
    }

    func linking() -> Round {
      let child = CancellationTokenSource(linkedTo: [first.token, second.token])
      held.value = [child, CancellationTokenSource(linkedTo: [child.token])]
      registration.value = child.token.register { [calls] _ in calls("called") }
      return self
    }
  }

  @Test("cancel ∥ cancel: one call wins")
  func twoCancels() {
    race(rounds: 2_000) {
      Round()
    } _: {
      [
        { round in if round.first.cancel(reason: "a") { round.winners("a") } },
        { round in if round.first.cancel(reason: "b") { round.winners("b") } },
      ]
    } check: { round, _ in
      expectEqual(round.winners.entries, [round.first.token.reason?.message])
    }
  }

  @Test("Register ∥ cancel: the body runs once")
  func registers() {
    race(rounds: 2_000) {
      Round()
    } _: {
      [
        { round in round.first.token.register { _ in round.calls("called") } },
        { round in round.first.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.calls.entries, ["called"])
    }
  }

  @Test("Remove a registration ∥ cancel: the body runs if and only if remove() returns false")
  func ends() {
    race(rounds: 2_000) {
      Round().registering()
    } _: {
      [
        { round in if round.registration.value?.remove() == true { round.winners("ended") } },
        { round in round.first.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.calls.count + round.winners.count, 1)
    }
  }

  @Test("Link ∥ cancel both parents: the child is cancelled once")
  func links() {
    race(rounds: 2_000) {
      Round()
    } _: {
      [
        { round in
          let child = CancellationTokenSource(linkedTo: [round.first.token, round.second.token])
          child.token.register { reason in round.calls(reason.message) }
        },
        { round in round.first.cancel(reason: "a") },
        { round in round.second.cancel(reason: "b") },
      ]
    } check: { round, _ in
      expectEqual(round.calls.count, 1)
    }
  }

  @Test("Drop children ∥ cancel their parent ∥ remove: the body runs once or is removed")
  func drops() {
    race(rounds: 2_000) {
      Round().linking()
    } _: {
      [
        { round in
          while let source = round.held.withLock({ $0.popLast() }) { withExtendedLifetime(source) {} }
        },
        { round in round.first.cancel() },
        { round in if round.registration.value?.remove() == true { round.winners("ended") } },
      ]
    } check: { round, _ in
      expectEqual(round.calls.count + round.winners.count, 1)
    }
  }
}
