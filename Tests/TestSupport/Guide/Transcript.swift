import FutureTree

/// Stands for `print` in the snippets of the guides, and keeps the lines.
///
/// A suite that calls its property `print` runs a snippet as it stands in its guide.
package final class Transcript: Sendable {
  private let printed = Locked<[String]>([])

  package init() {}

  package var lines: [String] { printed.value }

  package func callAsFunction(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    printed.withLock { $0.append(line) }
  }
}
