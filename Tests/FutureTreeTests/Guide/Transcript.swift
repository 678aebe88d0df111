import FutureTree

/// Stands for `print` in the snippets of the guides, and keeps the lines.
///
/// A suite that calls its property `print` runs a snippet as it stands in its guide.
final class Transcript: Sendable {
  private let printed = Locked<[String]>([])

  var lines: [String] { printed.value }

  func callAsFunction(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    printed.withLock { $0.append(line) }
  }
}
