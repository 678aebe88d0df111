import Foundation

/// How much the long tests do: those of stress, depth and memory.
///
/// `swift test` runs a small version of each, so that it takes a minute. `FUTURETREE_TESTS=whole` runs them whole.
package enum LongTest {
  package static let isWhole = ProcessInfo.processInfo.environment["FUTURETREE_TESTS"] == "whole"

  package static func count(_ whole: Int, small: Int) -> Int { isWhole ? whole : small }
}
