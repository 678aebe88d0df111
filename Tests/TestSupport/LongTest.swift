import Foundation

/// The size of the long tests of stress, depth and memory.
///
/// `swift test` runs a small version of each, in about a minute. `FUTURETREE_TESTS=whole` runs the full versions.
package enum LongTest {
  package static let isWhole = ProcessInfo.processInfo.environment["FUTURETREE_TESTS"] == "whole"

  /// Returns a number that the environment sets, such as a count or a seed, or `nil`.
  package static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  package static func count(_ whole: Int, small: Int) -> Int { isWhole ? whole : small }
}
