import FutureTree

/// A test that cancels a scenario at every point at which it waits, with every option.
///
/// ```swift
/// try CancelEverywhere.run { trial in
///   let seats = trial.track(Seats(2))
///   trial.expect("no seat is taken") { _ in seats.taken == 0 }
///   return seats.hold(for: .seconds(1), clock: trial.clock)
/// }
/// ```
///
/// The scenario creates the objects of one trial and returns the future to cancel. The first run cancels nothing and records
/// the points. A *point* is each time at which the returned future is pending and one of these happens:
///
/// - The scenario has returned.
/// - A future of its tree has begun to wait for another future, or has ended.
/// - A job is about to run on the executor of the trial.
/// - A timer is about to fire on the clock of the trial.
///
/// For each point and each option, the scenario then runs again, and the future is cancelled at that point. A cancellation at
/// the first two kinds of points arrives inside the call that led there. Each run continues until no job and no timer is left.
///
/// Each run must fulfill these rules:
///
/// - The returned future completes once.
/// - When all futures of the tree have ended, no timer is set. The timer of an operator, such as `delayed` or `retry`, must end
///   with the operator.
/// - At the end, every future of the tree has ended.
/// - The rules of ``CancelTrial/expect(_:_:)`` hold.
/// - When the objects of the scenario have been released, no future of the tree and no object of ``CancelTrial/track(_:_:)`` is
///   in memory.
///
/// A trial takes over the main actor: bodies on `.main` are jobs of the trial, which run on the main queue. The test itself can run
/// anywhere. If it does not run on the main actor, something must serve the main queue, as in each test of Swift Testing.
///
/// Tasks of Swift run on threads that no test controls, so their order differs from run to run. A scenario must not depend on
/// tasks. Pass the clock and the executor of the trial wherever a function accepts them. If a body waits on another executor when
/// the trial ends, the failure names that executor.
public enum CancelEverywhere {
  /// The combinations of options that differ in their effect.
  public static let allOptions: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
    [.doNotForwardIfOthersWaiting, .forceImmediately], [.doNotForwardRequest, .forceImmediately],
  ]

  /// Runs the scenario once without a cancellation, and once for each point and each option.
  ///
  /// The error of a failure has the first point that fails, the events of its trial, and the code that repeats this trial alone:
  ///
  /// ```swift
  /// try CancelEverywhere.run(only: CancelPoint(3, [.forceImmediately])) { trial in
  ///   seats.hold(for: .seconds(1), clock: trial.clock)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - options: The options of the cancellation requests. Defaults to `allOptions`.
  ///   - only: The only trial to run, after the run without a cancellation. Defaults to `nil`: all trials.
  ///   - grace: The time that timers can remain after the tree has ended, for work that is not connected with the future of
  ///     the scenario. Defaults to zero.
  ///   - stepLimit: The maximum number of jobs and timers of one run. Defaults to 10,000.
  ///   - fileID: The file of the call, for the reason of the cancellation.
  ///   - line: The line of the call, for the reason of the cancellation.
  ///   - scenario: Creates the objects of a trial and returns the future to cancel. It must do the same in each call.
  /// - Returns: The points and the number of runs.
  /// - Throws: ``CancelEverywhereFailure``, or the error of the scenario.
  /// - Complexity: O(points × options) runs of the scenario.
  @discardableResult
  public static func run<Value: Sendable>(
    options: [CancellationOptions] = allOptions, only: CancelPoint? = nil, grace: Duration = .zero,
    stepLimit: Int = 10_000, fileID: String = #fileID, line: UInt = #line,
    _ scenario: (CancelTrial) throws -> Future<Value>
  ) throws -> CancelEverywhereReport {
    let limits = TrialLimits(grace: grace, steps: stepLimit, fileID: fileID, line: line)
    let baseline = try TrialRun(limits).run(scenario)
    guard baseline.problems.isEmpty else { throw CancelEverywhereFailure(nil, baseline, failed: 1, runs: 1) }
    guard !baseline.points.isEmpty else { throw CancelEverywhereFailure.noPoint }
    let all = baseline.points.indices.flatMap { number in options.map { CancelPoint(number, $0) } }
    let points = only.map { [$0] } ?? all
    var shortest: (point: CancelPoint, result: TrialResult)?
    var failed = 0
    for point in points {
      let result = try TrialRun(limits, cancelling: point, recorded: baseline.points).run(scenario)
      if result.problems.isEmpty { continue }
      failed += 1
      if shortest == nil { shortest = (point, result) }
    }
    if let shortest {
      throw CancelEverywhereFailure(shortest.point, shortest.result, failed: failed, runs: points.count)
    }
    return CancelEverywhereReport(points: baseline.points, runs: points.count + 1)
  }
}

/// A point of a scenario at which ``CancelEverywhere`` cancels, with the options of the request.
public struct CancelPoint: Sendable, Hashable {
  /// The number of the point, counted from 0.
  public let number: Int
  /// The options of the cancellation request.
  public let options: CancellationOptions

  /// Creates a point, as a failure prints it.
  public init(_ number: Int, _ options: CancellationOptions = []) {
    self.number = number
    self.options = options
  }
}

extension CancelPoint: CustomStringConvertible {
  /// The code of this point, such as `CancelPoint(3, [.forceImmediately])`.
  public var description: String {
    let names = "\(options)".dropFirst().dropLast().split(separator: ", ").map { ".\($0)" }
    return names.isEmpty ? "CancelPoint(\(number))" : "CancelPoint(\(number), [\(names.joined(separator: ", "))])"
  }
}

/// The runs of a scenario that passed.
public struct CancelEverywhereReport: Sendable, Hashable {
  /// The points at which the scenario was cancelled, in their order.
  public let points: [String]
  /// The number of runs of the scenario, including the run without a cancellation.
  public let runs: Int
}

extension CancelEverywhereReport: CustomStringConvertible {
  public var description: String {
    "\(points.count) points, \(runs) runs:\n"
      + points.enumerated().map { "\($0.offset). \($0.element)" }.joined(separator: "\n")
  }
}

/// The error of ``CancelEverywhere/run(options:only:grace:stepLimit:fileID:line:_:)``: a run broke a rule.
public struct CancelEverywhereFailure: Error, Hashable, CustomStringConvertible {
  /// The first point that failed, or `nil` if the run without a cancellation failed.
  public let point: CancelPoint?
  /// The broken rules of that run.
  public let problems: [String]
  /// The point and its rules, the code that repeats it, and the events of the trial, as text.
  public let description: String

  init(_ point: CancelPoint?, _ result: TrialResult, failed: Int, runs: Int) {
    self.point = point
    problems = result.problems
    var lines: [String] = []
    if let point {
      let name = result.points.indices.contains(point.number) ? result.points[point.number] : "not reached"
      lines.append("\(failed) of \(runs) runs failed. The first was cancelled at point \(point.number): \(name).")
    } else {
      lines.append("The scenario failed without a cancellation.")
    }
    lines += problems.map { "- \($0)" }
    if let point { lines.append("To repeat it: try CancelEverywhere.run(only: \(point)) { … }") }
    if !result.events.isEmpty { lines += ["Its events:", result.events] }
    description = lines.joined(separator: "\n")
  }

  private init(_ problem: String) {
    point = nil
    problems = [problem]
    description = problem
  }

  static let noPoint = CancelEverywhereFailure(
    "The scenario has no point to cancel: its future had completed when it returned. "
      + "Let it wait for the clock or the executor of the trial.")
}
