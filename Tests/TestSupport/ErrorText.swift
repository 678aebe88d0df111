import Foundation

/// The printed texts of errors, for the tests that check that a text says what happened and what to do.
package enum ErrorText {
  /// Prints the text of an error, and returns its fault, or `nil` if there is none. Alerts and logs must show the same text.
  package static func fault(of error: any Error, after front: String = "") -> String? {
    let text = "\(error)"
    guard error.localizedDescription == text else { return "localizedDescription is \(error.localizedDescription)" }
    return fault(in: text, after: front)
  }

  /// Prints the text, and returns its fault, or `nil` if there is none.
  ///
  /// A person must judge the quality of the text. This function only checks that text follows after the cause.
  ///
  /// - Parameter front: A beginning of the text that is not checked.
  package static func fault(in text: String, after front: String = "") -> String? {
    print(text)
    guard text.hasPrefix(front) else { return "does not begin with \(front): \(text)" }
    let line = text.dropFirst(front.count)
    let says = [". ", "? ", "; ", ": ", " must "].contains { line.contains($0) }
    return says ? nil : "does not say what to do: \(text)"
  }
}
