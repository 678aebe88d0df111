import FutureTree

/// Replaces `print` in the snippets of the guides, and records the lines.
///
/// A suite with a property `print` of this type runs a snippet unchanged.
package final class Transcript: Sendable {
  private let printed = Locked<[String]>([])

  package init() {}

  package var lines: [String] { printed.value }

  package func callAsFunction(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    printed.withLock { $0.append(line) }
  }
}
