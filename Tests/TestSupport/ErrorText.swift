import Foundation

/// The printed texts of errors, for the tests that check that a text says what failed, why, and what to do.
package enum ErrorText {
  /// Prints the text of an error, and returns its fault, or `nil` if there is none. Alerts and logs must show the same text.
  package static func fault(of error: any Error, after front: String = "", hasAdvice: Bool = true) -> String? {
    let text = "\(error)"
    guard error.localizedDescription == text else { return "localizedDescription is \(error.localizedDescription)" }
    return fault(in: text, after: front, hasAdvice: hasAdvice)
  }

  /// Prints the text, and returns its fault, or `nil` if there is none. Lines after the first are a list, and are not checked.
  ///
  /// - Parameters:
  ///   - front: The beginning of the text, which is not checked: the code and the request.
  ///   - hasAdvice: Whether a second sentence must say what to do.
  package static func fault(in text: String, after front: String = "", hasAdvice: Bool = true) -> String? {
    print("ERROR TEXT: \(text)")
    guard text.hasPrefix(front) else { return "does not begin with \(front): \(text)" }
    let line = text.dropFirst(front.count).prefix { $0 != "\n" }
    guard let first = line.first, first.isUppercase || first == "`" else {
      return "does not begin with a capital: \(text)"
    }
    guard line.hasSuffix(text.contains("\n") ? ":" : ".") else { return "does not end with a period: \(text)" }
    if hasAdvice, !line.contains(/\. [A-Z`]/) { return "does not say what to do: \(text)" }
    if line.contains("  ") { return "has two spaces: \(text)" }
    if line.contains(/(^|[^.\d])\d+\.\d{3,}($|[^.\d])/) { return "has a long number: \(text)" }
    let prose = line.replacing(/`[^`]*`/, with: "").lowercased()
    return avoided.first { prose.contains($0) }.map { "says \"\($0)\": \(text)" }
  }

  /// Words for which section 1 of the style has a term.
  private static let avoided = [
    "anew", "answer", "anybody", "asks", "for ever", "give it", "go on with", "gone", "lets go", "look at",
    "nobody", "one that", "ones that", "so that", "somebody", "the one", "told", "under way", "wants", "what ", "wish",
  ]
}
