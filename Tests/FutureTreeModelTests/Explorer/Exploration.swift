#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// Futures, and the operations of concurrent threads on them.
  struct Scenario: Sendable {
    let name: String
    /// Correct outcomes that no sequential order gives.
    var extras: [Extra] = []
    let make: @Sendable (Trial) -> Void

    /// A rule for correct outcomes that no sequential order gives.
    struct Extra: Sendable {
      /// The law that allows the outcome, and the reason.
      let law: String
      let allows: @Sendable (_ outcome: TrialOutcome, _ sequential: Set<[String]>) -> Bool
    }
  }

  /// The facts after one schedule, by name.
  struct TrialOutcome: Sendable {
    let names: [String]
    let facts: [String]

    static let none = TrialOutcome(names: [], facts: [])

    subscript(name: String) -> String? { names.firstIndex(of: name).map { facts[$0] } }
  }

  /// The result of the exploration of a scenario.
  struct Findings {
    let scenario: String
    var scheduleCount = 0
    /// The number of schedules that turned out to be the same as others.
    var redundantCount = 0
    var pointCount = 0
    var outcomeCount = 0
    /// The number of correct outcomes that no sequential order gives.
    var extraCount = 0
    /// The first failure.
    var failure: Failure?

    struct Failure: CustomStringConvertible {
      let scenario: String
      let problems: [String]
      let schedule: [Int]

      var description: String {
        """
        \(problems.joined(separator: "\n"))
        Replay it with FUTURETREE_SCENARIO="\(scenario)" \
        FUTURETREE_SCHEDULE="\(schedule.map(String.init).joined(separator: ","))"
        """
      }
    }
  }

  /// An object that runs the schedules of scenarios and checks each.
  final class Exploration {
    private var explorer = Explorer()
    /// See `ThreadExplorer.interruptsLocks`.
    var interruptsLocks = false

    /// Runs all schedules of a scenario until one fails.
    ///
    /// - Parameter points: The points at which threads are interrupted.
    func explore(_ scenario: Scenario, _ points: Explorer.Points) -> Findings {
      var findings = Findings(scenario: scenario.name)
      let sequential = sequentialOutcomes(of: scenario, &findings)
      guard findings.failure == nil else { return findings }
      var known = sequential
      explorer.tree = ScheduleTree()
      repeat {
        let outcome = run(scenario, points, &findings)
        if explorer.tree.isRedundant { findings.redundantCount += 1 } else { findings.scheduleCount += 1 }
        guard findings.failure == nil, known.insert(outcome.facts).inserted else { continue }
        check(outcome, of: scenario, sequential, &findings)
      } while findings.failure == nil && explorer.tree.advance()
      findings.outcomeCount = known.count
      return findings
    }

    /// Runs one schedule of a scenario.
    func replay(_ scenario: Scenario, _ schedule: [Int]) -> (findings: Findings, outcome: TrialOutcome) {
      var findings = Findings(scenario: scenario.name)
      let sequential = sequentialOutcomes(of: scenario, &findings)
      guard findings.failure == nil else { return (findings, .none) }
      explorer.tree = ScheduleTree(replaying: schedule)
      let outcome = run(scenario, .everywhere(mergesSame: false), &findings)
      findings.scheduleCount = 1
      if findings.failure == nil, !sequential.contains(outcome.facts) {
        check(outcome, of: scenario, sequential, &findings)
      }
      return (findings, outcome)
    }

    /// Returns the outcomes in which each operation is done before the next begins.
    private func sequentialOutcomes(of scenario: Scenario, _ findings: inout Findings) -> Set<[String]> {
      var outcomes: Set<[String]> = []
      explorer.tree = ScheduleTree()
      repeat {
        outcomes.insert(run(scenario, .betweenOperations, &findings).facts)
      } while findings.failure == nil && explorer.tree.advance()
      return outcomes
    }

    private func check(
      _ outcome: TrialOutcome, of scenario: Scenario, _ sequential: Set<[String]>, _ findings: inout Findings
    ) {
      findings.extraCount += 1
      guard !scenario.extras.contains(where: { $0.allows(outcome, sequential) }) else { return }
      let orders = sequential.map { $0.joined(separator: ", ") }.sorted().joined(separator: "\n  ")
      fail(
        [
          """
          No sequential order gives \(outcome.names.joined(separator: ", "))
          = \(outcome.facts.joined(separator: ", "))
          They give
            \(orders)
          """
        ], &findings)
    }

    private func fail(_ problems: [String], _ findings: inout Findings) {
      guard findings.failure == nil else { return }
      findings.failure = Findings.Failure(
        scenario: findings.scenario, problems: problems, schedule: explorer.tree.schedule)
    }

    /// Runs the next schedule, and checks the rules that hold after each.
    private func run(
      _ scenario: Scenario, _ points: Explorer.Points, _ findings: inout Findings
    ) -> TrialOutcome {
      explorer.interruptsLocks = interruptsLocks
      return SchedulingPoint.with(explorer) {
        let (nodeCount, callCount) = (explorer.nodeCount, Call.liveCount)
        var trial: Trial? = Trial()
        scenario.make(trial!)
        let isComplete = explorer.run(trial!.threads, points: points)
        findings.pointCount += explorer.pointCount
        guard isComplete else {
          fail(explorer.problems, &findings)
          explorer = Explorer()  // Its threads cannot continue.
          return .none
        }
        let outcome = trial!.outcome()
        var problems = explorer.problems + trial!.brokenLaws()
        let afterwards = trial!.release()
        trial = nil
        problems += afterwards()
        if explorer.nodeCount != nodeCount {
          problems.append("law 21: \(explorer.nodeCount - nodeCount) futures are alive without a reference by a user")
        }
        if Call.liveCount != callCount {
          problems.append("law 21: \(Call.liveCount - callCount) closures are alive without a future of a user")
        }
        if explorer.tree.hasDiverged { problems.append("the scenario differs in a second run of the same schedule") }
        if !problems.isEmpty { fail(problems, &findings) }
        return outcome
      }
    }
  }
#endif
