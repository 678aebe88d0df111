import FutureTree

/// One run of a scenario: its clock, its executor and its rules. See ``CancelEverywhere``.
///
/// - Note: All members can be used from any thread.
public final class CancelTrial: Sendable {
  struct Rule: Sendable {
    let text: String
    let holds: @Sendable (Ending) -> Bool
  }

  struct Tracked: Sendable {
    let name: String
    let isAlive: @Sendable () -> Bool
  }

  private struct State {
    var rules: [Rule] = []
    var tracked: [Tracked] = []
  }

  /// The clock of this trial. Pass it to everything that accepts a clock.
  public let clock = ManualClock()
  let jobs = ManualExecutor()
  private let state = Locked(State())

  init() {}

  /// The executor of this trial. Pass it to operators whose bodies must not run at once.
  public var executor: FutureExecutor { jobs.executor }

  /// Runs a part of the trial. Jobs for the main actor become jobs of this trial, which run on the main queue.
  func withMainActor<Result>(_ body: () throws -> Result) rethrows -> Result {
    try MainExecutor.substituting(
      { [weak self] job in
        guard let self else { return job() }
        jobs.add { [weak self] in
          guard let self else { return }
          MainExecutor.run { withMainActor(job) }
        }
      }, body)
  }

  /// Adds a rule that must hold at the end of the trial.
  ///
  /// ```swift
  /// trial.expect("a paid order exists only after a success") { ending in ending == .succeeded || orders.paid.isEmpty }
  /// ```
  ///
  /// - Parameters:
  ///   - rule: The text of the rule, for errors.
  ///   - holds: Receives the ending of the future of the scenario, and returns whether the rule holds. It is released before
  ///     memory is checked.
  public func expect(_ rule: String, _ holds: @escaping @Sendable (Ending) -> Bool) {
    state.withLock { $0.rules.append(Rule(text: rule, holds: holds)) }
  }

  /// Expects an object to be deallocated at the end of the trial, and returns it.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - name: The name of the object, for errors. Defaults to its type.
  public func track<Object: AnyObject & Sendable>(_ object: Object, _ name: String? = nil) -> Object {
    let tracked = Tracked(name: name ?? "\(Object.self)") { [weak object] in object != nil }
    state.withLock { $0.tracked.append(tracked) }
    return object
  }

  var rules: [Rule] { state.withLock { $0.rules } }
  var tracked: [Tracked] { state.withLock { $0.tracked } }

  func removeRules() {
    state.release { state in
      defer { state.rules = [] }
      return state.rules
    }
  }
}
