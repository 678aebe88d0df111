/// Text that stays on its line, whatever is in it.
enum OneLine {
  /// The text with everything escaped that could break the line, hide, or turn the direction of writing.
  ///
  /// - Parameter limit: how many scalars are written at most, those of escapes included; for what is cut off, an ellipsis
  ///   follows.
  static func text(_ text: String, limit: Int = 500) -> String {
    if text.utf8.count <= limit, isPlain(text) { return text }
    var line = ""
    var room = limit
    for scalar in text.unicodeScalars {
      let shown = isEscaped(scalar) ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
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

  /// Control characters, line and paragraph separators, formats such as marks of direction, and what means nothing.
  static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
    default: false
    }
  }
}
