import Foundation
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("ProcessSignals", .timeLimit(.minutes(5)))
struct ProcessSignalsTests {
  private let log = Recorder()
  private let clock = ManualClock()
  /// Receives only the signals of a test.
  private let signals = ProcessSignals(uninstalled: [.interrupt, .terminate])

  @Test("The first signal cancels the token, the second the force token, and later ones nothing")
  func tokens() {
    for (name, token) in [("ask", signals.token), ("force", signals.forceToken)] {
      token.register { reason in log("\(name): \(reason), \(reason.kind)") }
    }
    #expect(signals.exitCode == nil)

    signals.receive(.terminate)
    expectEqual(log.entries, ["ask: SIGTERM, shutdown"])
    expectEqual(signals.exitCode, 143)

    signals.receive(.interrupt)
    signals.receive(.interrupt)
    expectEqual(log.entries, ["ask: SIGTERM, shutdown", "force: SIGINT, the second signal, shutdown"])
    expectEqual(signals.exitCode, 143)
  }

  @Test("A future is asked by the first signal, and forced by the second")
  func secondSignal() {
    let promise = source(log)
    promise.future.cancel(when: signals)
    signals.receive(.interrupt)
    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "SIGINT")
    expectEqual(promise.cancelRequest?.reason.fileID, #fileID)
    #expect(!promise.future.isCompleted)

    signals.receive(.interrupt)
    expectEqual(promise.future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("A future that does not end within the grace period is forced")
  func grace() {
    let promise = source(log)
    promise.future.cancel(when: signals, grace: .seconds(5), clock: clock)
    expectEqual(clock.timerCount, 0)
    signals.receive(.interrupt)
    clock.advance(by: .seconds(4))
    #expect(!promise.future.isCompleted)

    clock.advance(by: .seconds(1))
    expectEqual(promise.future.outcomeIfCompleted?.ending, .cancelled)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A signal that was received before asks at once")
  func before() {
    signals.receive(.interrupt)
    let promise = source(log)
    promise.future.cancel(when: signals)

    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A completed future leaves nothing in the tokens")
  func completed() {
    let promise = source(log)
    promise.future.cancel(when: signals)
    expectEqual(listed, 2)
    promise.succeed(1)

    expectEqual(listed, 0)
    signals.receive(.interrupt)
    expectEqual(log.entries, [])
  }

  private var listed: Int {
    [signals.token, signals.forceToken].reduce(0) { $0 + ($1.source?.state.listedCount ?? 0) }
  }

  @Test("The work of a scope is asked by the first signal, and forced after the grace period or by the second signal")
  func scope() {
    for isSecondSignal in [true, false] {
      let (signals, scope) = (ProcessSignals(uninstalled: []), CancelScope("program", clock: clock))
      let promise = source(log)
      scope.add(promise.future)
      scope.cancel(when: signals, grace: .seconds(5), clock: clock)
      signals.receive(.interrupt)
      #expect(scope.isEnded && promise.cancelRequest != nil && !promise.future.isCompleted)

      if isSecondSignal { signals.receive(.interrupt) } else { clock.advance(by: .seconds(5)) }
      expectEqual(promise.future.outcomeIfCompleted?.ending, .cancelled)
      expectEqual(scope.future.outcomeIfCompleted?.ending, .cancelled)
    }
  }

  @Test("A scope that waits for signals ends when it is dropped")
  func droppedScope() {
    let promise = source(log)
    var scope: CancelScope? = CancelScope("program", clock: clock)
    scope?.add(promise.future)
    scope?.cancel(when: signals)
    scope = nil

    expectEqual(promise.cancelRequest?.reason.kind, .abandoned)
  }
}

/// Each in a process of its own.
@Suite("ProcessSignals, with signals", .timeLimit(.minutes(5)))
struct ReceivedSignalsTests {
  @Test("Two signals ask and force, and the third ends the process")
  func three() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let signals = ProcessSignals()
      let (promise, asked) = (Promise<Void>(), Promise<Void>())
      promise.onRequestCancel { _ in
        asked.succeed()
        return .continue
      }
      promise.future.cancel(when: signals)
      kill(getpid(), SIGINT)
      _ = await asked.future.outcome
      try #require(signals.exitCode == 130 && !promise.future.isCompleted)
      kill(getpid(), SIGTERM)
      let outcome = await promise.future.outcome
      try #require(outcome.ending == .cancelled)

      kill(getpid(), SIGTERM)
      while true { pause() }
    }
  }

  @Test("An object that nothing holds still receives signals")
  func dropped() async {
    await #expect(processExitsWith: .success) {
      let promise = Promise<Void>()
      promise.future.cancel(when: ProcessSignals([.hangUp, .quit]), grace: .zero)
      kill(getpid(), SIGQUIT)
      await expectEqual(promise.future.outcome.ending, .cancelled)
    }
  }

  @Test("stop() gives a signal its former effect, and leaves the signals of other objects")
  func stop() async {
    await #expect(processExitsWith: .success) {
      signal(SIGHUP, SIG_IGN)
      let (stopped, other) = (ProcessSignals([.hangUp, .terminate]), ProcessSignals([.terminate]))
      stopped.stop()
      stopped.stop()
      kill(getpid(), SIGHUP)
      kill(getpid(), SIGTERM)
      let received = Promise<Void>()
      other.token.register { _ in received.succeed() }
      _ = await received.future.outcome

      #expect(stopped.exitCode == nil)
      expectEqual(other.exitCode, 143)
      #expect(!stopped.token.isCancelling)
    }
  }

  @Test("Signals that arrive at once on several threads ask and force once")
  func many() async {
    await #expect(processExitsWith: .success) {
      signal(SIGINT, SIG_IGN)
      let (signals, counts) = (ProcessSignals([.interrupt]), Locked((asks: 0, forces: 0)))
      signals.token.register { _ in counts.withLock { $0.asks += 1 } }
      let forced = Promise<Void>()
      signals.forceToken.register { _ in
        counts.withLock { $0.forces += 1 }
        forced.succeed()
      }
      DispatchQueue.concurrentPerform(iterations: 8) { _ in for _ in 0..<10_000 { kill(getpid(), SIGINT) } }
      _ = await forced.future.outcome

      #expect(counts.value == (1, 1))
    }
  }
}
