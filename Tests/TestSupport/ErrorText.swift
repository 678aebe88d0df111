import Foundation

/// What an error prints, for the tests that hold that it says what happened and what to do.
package enum ErrorText {
  /// Prints the text of an error, and returns what it lacks; nil if nothing. Alerts and logs must show the same text.
  package static func fault(of error: any Error, after front: String = "") -> String? {
    let text = "\(error)"
    guard error.localizedDescription == text else { return "localizedDescription is \(error.localizedDescription)" }
    return fault(in: text, after: front)
  }

  /// Prints the text, and returns what it lacks; nil if nothing.
  ///
  /// Whether it is any good must be read. What can be told without that: after what happened comes something more.
  ///
  /// - Parameter front: what the text begins with, and what counts for neither.
  package static func fault(in text: String, after front: String = "") -> String? {
    print(text)
    guard text.hasPrefix(front) else { return "does not begin with \(front): \(text)" }
    let line = text.dropFirst(front.count)
    let says = [". ", "? ", "; ", ": ", " must "].contains { line.contains($0) }
    return says ? nil : "does not say what to do: \(text)"
  }
}
