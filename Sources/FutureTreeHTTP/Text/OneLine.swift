import FutureTree

/// A namespace for text that always stays on one line.
enum OneLine {
  /// Escapes all characters that could break the line, be invisible, or change the writing direction.
  ///
  /// - Parameter limit: The maximum number of scalars, including those of escapes. An ellipsis replaces the rest.
  static func text(_ text: String, limit: Int = 500) -> String {
    if text.utf8.count <= limit, isPlain(text) { return text }
    var line = ""
    var room = limit
    for scalar in text.unicodeScalars {
      let shown = isEscaped(scalar) ? SafeText.code(of: scalar) : String(scalar)
      room -= shown.unicodeScalars.count
      if room < 0 { return line + "…" }
      line += shown
    }
    return line
  }

  private static func isPlain(_ text: String) -> Bool {
    let plain: ClosedRange<UInt8> = 0x20...0x7E
    return text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(plain.contains) }
      ?? text.utf8.allSatisfy(plain.contains)
  }

  /// Returns whether a scalar is a control character, a line or paragraph separator, a format character such as a
  /// direction mark, or has no assigned meaning.
  static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
    default: false
    }
  }
}
