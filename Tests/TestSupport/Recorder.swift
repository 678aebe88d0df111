import FutureTree

/// A log of strings that any thread may write.
package final class Recorder: Sendable {
  private let lines = Locked<[String]>([])

  package init() {}

  package var entries: [String] { lines.value }
  package var count: Int { lines.withLock { $0.count } }

  package func callAsFunction(_ line: String) {
    lines.withLock { $0.append(line) }
  }

  /// Logs the line and returns the value, for bodies of one expression.
  package func callAsFunction<Value>(_ line: String, passing value: Value) -> Value {
    self(line)
    return value
  }

  package func clear() {
    lines.value = []
  }
}
