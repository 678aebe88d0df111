import Foundation

/// What was compiled in, and what the environment asks for.
enum ExplorerSetting {
  #if FUTURETREE_EXPLORER && canImport(Glibc)
    static let isCompiledIn = true
  #else
    static let isCompiledIn = false
  #endif

  private static let environment = ProcessInfo.processInfo.environment
  /// Whether all schedules run, or a part that takes seconds.
  static let runsAll = environment["FUTURETREE_SCHEDULES"] == "all"
  /// What to run again.
  static let scenario = environment["FUTURETREE_SCENARIO"]
  static let schedule = environment["FUTURETREE_SCHEDULE"]?.split(separator: ",").compactMap { Int($0) }
}
