import Foundation

/// The size of the long tests of stress, depth and memory.
///
/// `swift test` runs a small version of each, in about a minute. `FUTURETREE_TESTS=whole` runs the full versions.
package enum LongTest {
  package static let isWhole = ProcessInfo.processInfo.environment["FUTURETREE_TESTS"] == "whole"

  package static func count(_ whole: Int, small: Int) -> Int { isWhole ? whole : small }
}
