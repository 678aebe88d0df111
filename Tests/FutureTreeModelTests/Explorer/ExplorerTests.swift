import Foundation
import Testing

@testable import FutureTree

/// The suites of the explorer, one test at a time: they share the stacks of the threads and the counts.
@Suite(
  "Explorer", .serialized,
  .enabled(if: ExplorerSetting.isCompiledIn, "compile with -Xswiftc -DFUTURETREE_EXPLORER, on glibc"))
enum ExplorerSuite {}

extension ExplorerSuite {
  /// Runs every schedule of the operations of a few threads on a few futures, and checks the laws after each.
  ///
  /// An outcome must be one of a sequential order, or be allowed by a law that the scenario names. A schedule that fails is
  /// printed. `FUTURETREE_SCENARIO` with `FUTURETREE_SCHEDULE` runs it again. `FUTURETREE_SCHEDULES=all` runs all
  /// schedules, instead of a part that takes seconds.
  @Suite("All schedules of a few threads")
  struct ExplorerTests {
    #if FUTURETREE_EXPLORER && canImport(Glibc)
      private static let settings = Stage.Setting.Child.allCases.map {
        Stage.Setting(child: $0, handler: .continues, hasTokens: true)
      }

      private static let otherSettings = [
        Stage.Setting(child: .map, handler: .cancels, isShared: true, hasTokens: true),
        Stage.Setting(child: .none, handler: .cancels, hasTokens: true),
        Stage.Setting(child: .flatMap, handler: .none),
      ]

      @Test("All schedules of two threads with one operation each follow the laws")
      func pairs() {
        for setting in Self.settings where ExplorerSetting.runsAll || setting.child == .none {
          explore(StageOperation.scenarios(of: 2, in: setting), .everywhere(mergesSame: true), setting.name)
        }
        explore(StageOperation.scenarios(of: 2, in: Self.settings[0]), .all(preemptions: 2), "one future")
      }

      @Test("All schedules of two threads on a shared future, and on a future whose handler answers, follow the laws")
      func morePairs() {
        for setting in Self.otherSettings where ExplorerSetting.runsAll || setting.child == .none {
          explore(StageOperation.scenarios(of: 2, in: setting), .everywhere(mergesSame: true), setting.name)
        }
      }

      @Test("All schedules with two preemptions of three threads with one operation each follow the laws")
      func triples() {
        let bound = ExplorerSetting.runsAll ? 2 : 0
        for setting in Self.settings where [.none, .map, .flatMap].contains(setting.child) {
          guard ExplorerSetting.runsAll || setting.child == .none else { continue }
          explore(StageOperation.scenarios(of: 3, in: setting), .all(preemptions: bound), setting.name)
        }
      }

      @Test("All schedules with two preemptions of the named scenarios follow the laws")
      func named() {
        let bound = ExplorerSetting.runsAll ? 2 : 1
        explore(Scenario.named, .all(preemptions: bound), "named")
        for finding in Scenario.named.map({ Exploration().explore($0, .all(preemptions: 0)) }) {
          #expect(finding.scheduleCount >= 6, "\(finding.scenario) has no choices")
        }
      }

      @Test("The schedule in the environment is run again", .enabled(if: ExplorerSetting.schedule != nil))
      func replayed() throws {
        let name = try #require(ExplorerSetting.scenario, "FUTURETREE_SCENARIO has no name")
        let schedule = try #require(ExplorerSetting.schedule)
        let groups = (Self.settings + Self.otherSettings).flatMap { setting in
          [2, 3].flatMap { StageOperation.scenarios(of: $0, in: setting) }
        }
        let scenario = try #require((Scenario.named + groups).first { $0.name == name }, "there is no scenario \(name)")
        let (findings, outcome) = Exploration().replay(scenario, schedule)
        print("explorer: \(outcome)")
        if let failure = findings.failure { Issue.record("\(name)\n\(failure)") }
      }

      /// Explores scenarios one after another, and prints the number of schedules.
      private func explore(_ all: [Scenario], _ points: Explorer.Points, _ title: String) {
        let scenarios = ExplorerSetting.shared(all)
        let exploration = Exploration()
        var (schedules, extras, interrupted) = (0, 0, 0)
        let start = Date()
        for scenario in scenarios {
          let findings = exploration.explore(scenario, points)
          schedules += findings.scheduleCount
          extras += findings.extraCount
          interrupted += findings.pointCount
          if let failure = findings.failure { Issue.record("\(scenario.name)\n\(failure)") }
        }
        let seconds = Date().timeIntervalSince(start)
        print(
          "explorer: \(title), \(points): \(scenarios.count) scenarios, \(schedules) schedules, \(interrupted) points, "
            + "\(extras) outcomes that only a law allows, \(Int(Double(schedules) / seconds)) schedules a second")
      }
    #else
      @Test("The explorer is not compiled in") func schedules() {}
    #endif
  }
}
