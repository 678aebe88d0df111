import FutureTree

struct TrialLimits {
  let grace: Duration
  let steps: Int
  /// The call of `CancelEverywhere.run`.
  let fileID: String
  let line: UInt
}

/// The result of one run.
struct TrialResult {
  let points: [String]
  var problems: [String]
  let events: String
}

/// One run of a scenario, cancelled at one point or not at all.
struct TrialRun {
  private let limits: TrialLimits
  private let point: CancelPoint?
  /// The points of the run without a cancellation.
  private let recorded: [String]

  init(_ limits: TrialLimits, cancelling point: CancelPoint? = nil, recorded: [String] = []) {
    self.limits = limits
    self.point = point
    self.recorded = recorded
  }

  func run<Value>(_ scenario: (CancelTrial) throws -> Future<Value>) throws -> TrialResult {
    let trial = CancelTrial()
    return try trial.withMainActor { try run(scenario, trial) }
  }

  private func run<Value>(
    _ scenario: (CancelTrial) throws -> Future<Value>, _ trial: CancelTrial
  ) throws -> TrialResult {
    let watch = TrialWatch(cancellingAt: point?.number)
    // The log has the last events only: without a failure, nobody reads them.
    let log = FutureLog(
      limit: 100, now: { [clock = trial.clock] in clock.now }, onEvent: { watch.observe($0, isPause: $1) })
    var problems: [String] = []
    do {
      let future = try scenario(trial)
      future.logged(in: log)
      let reason = CancellationReason(
        "CancelEverywhere, point \(point?.number ?? 0)", fileID: limits.fileID, line: limits.line)
      watch.begin(future, options: point?.options ?? [], reason: reason)
      watch.reached("the scenario has returned")
      problems += drive(trial, watch)
      problems += problemsAtEnd(of: future, trial, watch)
    }
    let events = log.text()
    trial.removeRules()
    watch.end()
    problems += trial.tracked.filter { $0.isAlive() }.map {
      "\($0.name) is still in memory. Something retains it, such as a closure that is never released."
    }
    problems += watch.living.map { "\($0) is still in memory. Something retains this future." }
    if let mismatch = mismatch(with: watch.points) { problems.insert(mismatch, at: 0) }
    return TrialResult(points: watch.points, problems: problems, events: events)
  }

  /// Runs jobs and timers until none is left. A job runs before the time moves.
  private func drive(_ trial: CancelTrial, _ watch: TrialWatch) -> [String] {
    var problems: [String] = []
    var end: Duration?
    for _ in 0..<limits.steps {
      if trial.jobs.pendingCount > 0 {
        if !watch.reached("a job is about to run") { trial.jobs.runNext() }
        continue
      }
      if end == nil, watch.hasEnded { end = trial.clock.now }
      guard let deadline = trial.clock.nextDeadline else { return problems }
      if problems.isEmpty, let end, deadline > end + limits.grace {
        problems.append(
          "A timer is set for \(deadline.rounded), although all futures had ended at \(end.rounded). Cancel it in "
            + "`onRequestCancel` or `ensure`, or allow a grace time.")
      }
      if !watch.reached("the timer at \(deadline.rounded) is about to fire") { trial.clock.advanceToNextTimer() }
    }
    return problems + ["The trial has not ended after \(limits.steps) jobs and timers."]
  }

  private func problemsAtEnd<Value>(of future: Future<Value>, _ trial: CancelTrial, _ watch: TrialWatch) -> [String] {
    var problems: [String] = []
    if let outcome = future.outcomeIfCompleted {
      problems += trial.rules.filter { !$0.holds(outcome.ending) }.map {
        "The rule “\($0.text)” does not hold. The future has \(outcome.ending == .cancelled ? "been " : "")\(outcome.ending)."
      }
      if watch.completions != 1 { problems.append("The future has completed \(watch.completions) times.") }
      problems += watch.pending.map { "\($0) has not ended. No job and no timer is left that could complete it." }
    } else {
      let waiting = future.bodiesOnExecutors.map { "The body of \($0.future) waits for \($0.executor). " }.joined()
      problems.append(
        "The future has not completed. No job and no timer of the trial is left. \(waiting)Tasks, dispatch queues and the "
          + "system clock are not part of a trial: pass its executor and its clock. Its tree:\n\(future.tree())")
    }
    return problems
  }

  /// A run must take the same way as the recorded run up to its point.
  private func mismatch(with points: [String]) -> String? {
    guard let point else { return nil }
    let count = point.number + 1
    guard recorded.count >= count else {
      return "The scenario has \(recorded.count) points, so point \(point.number) is not one."
    }
    guard let index = (0..<count).first(where: { !points.indices.contains($0) || points[$0] != recorded[$0] }) else {
      return nil
    }
    let now = points.indices.contains(index) ? points[index] : "missing"
    return "The scenario is not deterministic: point \(index) was “\(recorded[index])” and is now “\(now)”. "
      + "Tasks, dispatch queues and random numbers are not part of a trial."
  }
}
