import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 11: bodies that always run", .tags(.law11))
struct Law11AlwaysRunTests {
  enum Body: String, CaseIterable, Sendable {
    case onComplete, onCompleteFuture, ensure, onCancel

    func attach(
      to future: Future<Int>, on executor: FutureExecutor = .immediate, _ log: Recorder
    ) -> Future<Int> {
      switch self {
      case .onComplete: future.onComplete(on: executor) { .success(log(Self.line($0), passing: 7)) }
      case .onCompleteFuture:
        future.onComplete(on: executor) { .completeUsing(.succeeded(log(Self.line($0), passing: 7))) }
      case .ensure: future.ensure(on: executor) { log("body asked") }
      case .onCancel: future.onCancel(on: executor) { log("body \($0.message)") }
      }
    }

    private static func line(_ outcome: Outcome<Int>) -> String { "body \(outcome.reason?.message ?? outcome.state)" }
  }

  /// The law under which a branch ends early.
  enum Law: String, CaseIterable, Sendable {
    case three, four, five

    var options: CancellationOptions {
      switch self {
      case .three: .doNotForwardIfOthersWaiting
      case .four: .doNotForwardRequest
      case .five: .forceImmediately
      }
    }
  }

  @Test(
    "A body that always runs does so at once with cancelled when its branch ends early, and its result is ignored",
    arguments: Body.allCases, Law.allCases)
  func endsEarly(body: Body, law: Law) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = body.attach(to: promise.future, log)
    let other = promise.future.map { $0 }

    derived.cancel(law.options, reason: "asked")

    expectEqual(log.entries, ["body asked"])
    expectEqual(derived.state, "cancelled")
    expectEqual(derived.reason?.message, "asked")
    expectEqual(other.state, "pending")
  }

  @Test("A body runs once, although its former upstream completes later", arguments: Body.allCases, Law.allCases)
  func onlyOnce(body: Body, law: Law) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = body.attach(to: promise.future, log)
    let other = promise.future.map { $0 }
    derived.cancel(law.options, reason: "asked")

    promise.completeCancelled()

    expectEqual(log.entries, ["body asked"])
    expectEqual(derived.reason?.message, "asked")
    expectEqual(other.state, "cancelled")
  }

  // Law 3 (stopping where others wait)
  @Test("A body in the middle of a branch runs when the branch ends early", arguments: Body.allCases)
  func middleOfBranch(body: Body) {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = body.attach(to: promise.future, log)
    let tail = middle.map { $0 }
    let other = promise.future.map { $0 }

    tail.cancel(.doNotForwardIfOthersWaiting, reason: "asked")

    expectEqual(log.entries, ["body asked"])
    expectEqual([middle.state, tail.state, other.state], ["cancelled", "cancelled", "pending"])
  }

  @Test(
    "A body at the end of a branch of several futures runs, and its result is ignored", arguments: Body.allCases)
  func endOfBranch(body: Body) {
    let log = Recorder()
    let promise = Promise<Int>()
    let tail = body.attach(to: promise.future.map { $0 }.map { $0 }, log)
    let last = body.attach(to: tail, log)
    let other = promise.future.map { $0 }

    last.cancel(.doNotForwardIfOthersWaiting, reason: "asked")

    expectEqual(log.entries, ["body asked", "body asked"])
    expectEqual([tail.state, last.state, other.state], ["cancelled", "cancelled", "pending"])
  }

  @Test("A body upstream of a detached future does not run, because its branch did not end", arguments: Body.allCases)
  func aboveDetaching(body: Body) {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = body.attach(to: promise.future, log)
    let tail = middle.map { $0 }

    tail.cancel(.doNotForwardRequest)

    expectEqual(log.entries, [])
    expectEqual(middle.state, "pending")
  }

  @Test("A body runs on its executor when its branch ends, which does not wait for it", arguments: Body.allCases)
  func onExecutor(body: Body) {
    // Two readings of "at once" for a body with an executor: the body runs now, or the executor receives it now. A body
    // with an executor may rely on it, so the executor receives it. The future completes at once.
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let derived = body.attach(to: promise.future, on: executor.executor, log)

    derived.cancel(.forceImmediately, reason: "asked")

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, [])
    executor.runAll()
    expectEqual(log.entries, ["body asked"])
    expectEqual(derived.reason?.message, "asked")
  }

  @Test("A future that onComplete returns after an early end is not linked, awaited or asked")
  func returnedFutureIgnored() {
    let log = Recorder()
    let inner = source(log, "inner")
    let promise = Promise<Int>()
    let derived = promise.future.onComplete { _ in .completeUsing(inner.future) }

    derived.cancel(.forceImmediately)

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, [])
    expectEqual(inner.future.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
  }

  @Test("A body that throws after an early end changes nothing")
  func throwsIgnored() {
    let promise = Promise<Int>()
    let derived = promise.future.onComplete { _ -> Completion<Int> in throw Oops() }

    derived.cancel(.forceImmediately)

    expectEqual(derived.state, "cancelled")
  }

  @Test("ensure and onComplete that are asked while they are queued run with the outcome of their upstream")
  func queued() {
    let log = Recorder()
    let executor = ManualExecutor()
    let ensured = Future.succeeded(1).ensure(on: executor.executor) { log("ensure") }
    let completed = Future.succeeded(2).onComplete(on: executor.executor) { outcome in
      .success(log("onComplete \(outcome.state)", passing: 3))
    }

    ensured.cancel()
    completed.cancel()
    executor.runAll()

    expectEqual(log.entries, ["ensure", "onComplete success(2)"])
    expectEqual([ensured.state, completed.state], ["success(1)", "success(3)"])
  }

  @Test("A future that is forced while its body is queued completes, and the body runs once")
  func forcedWhileQueued() {
    let log = Recorder()
    let executor = ManualExecutor()
    let ensured = Future.succeeded(1).ensure(on: executor.executor) { log("ensure") }

    ensured.cancel(.forceImmediately)
    expectEqual(ensured.state, "cancelled")
    executor.runAll()

    expectEqual(log.entries, ["ensure"])
    expectEqual(ensured.state, "cancelled")
  }

  @Test("onFailure does not run when its branch is cancelled")
  func onFailure() {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = promise.future.onFailure { _ in log("body") }

    derived.cancel(.forceImmediately)
    promise.fail(Oops())

    expectEqual(log.entries, [])
    expectEqual(derived.state, "cancelled")
  }
}
