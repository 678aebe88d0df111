import FutureTree

extension FutureLog {
  /// Returns the events as a sequence diagram. See `Recording.mermaid()`.
  public func mermaid() -> String { recording().mermaid() }
}

extension FutureLog.Recording {
  /// Returns the events as a Mermaid sequence diagram: futures from left to right, time from top to bottom.
  ///
  /// A solid arrow leads from a future to the future that it waits for. A dotted arrow leads from a completed future to a
  /// future that received its outcome.
  ///
  /// - Complexity: O(events log events).
  public func mermaid() -> String {
    let names = names
    var lines = ["sequenceDiagram"]
    for (future, name) in names.sorted(by: { $0.key < $1.key }) {
      lines.append("  participant f\(future) as \(future) \(SafeText.mermaid(name))")
    }
    if droppedCount > 0, let first = names.keys.min() {
      lines.append("  Note over f\(first): \(droppedCount) earlier events were dropped")
    }
    var waiting: [Int: [Int]] = [:]
    for event in events {
      let text = "\(event.seconds) \(SafeText.mermaid("\(event.fact)"))"
      switch event.fact {
      case .linked(let input) where names[input] != nil:
        waiting[input, default: []].append(event.future)
        lines.append("  f\(event.future)->>f\(input): \(event.seconds) waits")
      case .succeeded, .failed, .cancelled:
        let told = waiting.removeValue(forKey: event.future) ?? []
        if told.isEmpty { lines.append("  Note over f\(event.future): \(text)") }
        for waiter in told { lines.append("  f\(event.future)-->>f\(waiter): \(text)") }
      default:
        lines.append("  Note over f\(event.future): \(text)")
      }
    }
    return (lines + [""]).joined(separator: "\n")
  }
}
