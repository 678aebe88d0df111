import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: onFailure, onCancel, ensure")
struct SideEffectOperatorsTests {
  enum Operation: String, CaseIterable, Sendable {
    case onFailure, onCancel, ensure

    func attach(to future: Future<Int>, on executor: FutureExecutor = .immediate, _ log: Recorder) -> Future<Int> {
      switch self {
      case .onFailure: future.onFailure(on: executor) { log("onFailure \($0)") }
      case .onCancel: future.onCancel(on: executor) { log("onCancel \($0.message)") }
      case .ensure: future.ensure(on: executor) { log("ensure") }
      }
    }

    func lines(for outcome: Outcome<Int>) -> [String] {
      switch (self, outcome) {
      case (.ensure, _): ["ensure"]
      case (.onFailure, .failure(let error)): ["onFailure \(error)"]
      case (.onCancel, .cancelled(let reason)): ["onCancel \(reason.message)"]
      default: []
      }
    }
  }

  static let outcomes: [Outcome<Int>] = [.success(1), .failure(Oops()), .cancelled("gone")]

  @Test("The outcome passes, and the body runs for its kind of outcome", arguments: Operation.allCases, outcomes)
  func passes(operation: Operation, outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = operation.attach(to: promise.future, log)

    promise.complete(with: outcome)

    expectEqual(derived.state, outcome.state)
    expectEqual(derived.reason?.message, outcome.reason?.message)
    expectEqual(log.entries, operation.lines(for: outcome))
  }

  @Test(
    "The outcome of a completed upstream passes, and the body runs if it applies", arguments: Operation.allCases,
    outcomes)
  func completed(operation: Operation, outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.complete(with: outcome)

    let derived = operation.attach(to: promise.future, log)

    expectEqual(derived.state, outcome.state)
    expectEqual(log.entries, operation.lines(for: outcome))
  }

  @Test(
    "A request is forwarded, the body runs for its kind of outcome, and the outcome passes",
    arguments: Operation.allCases, outcomes)
  func asked(operation: Operation, outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = source(log)
    let derived = operation.attach(to: promise.future, log)

    derived.cancel()
    promise.complete(with: outcome)

    expectEqual(derived.state, outcome.state)
    expectEqual(log.entries, ["source: plain"] + operation.lines(for: outcome))
  }

  @Test(
    "The outcome waits for the executor only if the body runs",
    arguments: Operation.allCases, outcomes)
  func onExecutor(operation: Operation, outcome: Outcome<Int>) {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let derived = operation.attach(to: promise.future, on: executor.executor, log)
    let runs = !operation.lines(for: outcome).isEmpty

    promise.complete(with: outcome)

    expectEqual(derived.isCompleted, !runs)
    expectEqual(log.entries, [])
    executor.runAll()
    expectEqual(derived.state, outcome.state)
    expectEqual(log.entries, operation.lines(for: outcome))
  }

  @Test("The body runs before the consumers of its future are notified")
  func order() {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = promise.future.ensure { log("ensure") }.map { log("map", passing: $0) }

    promise.succeed(1)

    expectEqual(log.entries, ["ensure", "map"])
    expectEqual(derived.state, "success(1)")
  }
}
