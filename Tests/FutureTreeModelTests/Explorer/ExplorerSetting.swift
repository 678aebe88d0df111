import Foundation

/// The compile condition and the environment variables of the explorer.
enum ExplorerSetting {
  #if FUTURETREE_EXPLORER && canImport(Glibc)
    static let isCompiledIn = true
  #else
    static let isCompiledIn = false
  #endif

  private static let environment = ProcessInfo.processInfo.environment
  /// Whether all schedules run. Otherwise a part runs that takes seconds.
  static let runsAll = environment["FUTURETREE_SCHEDULES"] == "all"
  /// `1/2` and `2/2` give two processes one half each of the scenarios.
  private static let share = environment["FUTURETREE_SHARE"]?.split(separator: "/").compactMap { Int($0) } ?? [1, 1]
  /// The scenario and the schedule to run again.
  static let scenario = environment["FUTURETREE_SCENARIO"]
  static let schedule = environment["FUTURETREE_SCHEDULE"]?.split(separator: ",").compactMap { Int($0) }

  /// The part of `scenarios` that this process runs.
  static func shared<Scenario>(_ scenarios: [Scenario]) -> [Scenario] {
    scenarios.enumerated().filter { $0.offset % share[1] == share[0] - 1 }.map(\.element)
  }
}
