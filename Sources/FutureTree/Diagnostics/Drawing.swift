/// Escapes names, reasons and errors, which can contain any text, for drawings.
enum Drawing {
  /// Escapes text for one line: line breaks, other control characters, and marks that change the writing direction.
  static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: breaksLine) else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": line += "\\n"
      case "\t": line += "\\t"
      case "\r": line += "\\r"
      case _ where breaksLine(scalar): line += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }

  /// Escapes text for a quoted string of DOT. Graphviz reads escapes and, within them, entities.
  static func dot(_ text: String) -> String {
    escaped(line(text)) { scalar in
      switch scalar {
      case "\\": "\\\\"
      case "\"": "\\\""
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      default: nil
      }
    }
  }

  /// Escapes text for a quoted label or a message of Mermaid. Punctuation that Mermaid could read as syntax, HTML or Markdown
  /// is replaced by its character code.
  static func mermaid(_ text: String) -> String {
    escaped(line(text)) { scalar in
      guard scalar.isASCII, !isPlain(scalar) else { return nil }
      return "#\(scalar.value);"
    }
  }

  private static func escaped(_ text: String, _ escape: (Unicode.Scalar) -> String?) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if let escape = escape(scalar) { result += escape } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", " ", ".", ",", "/", ":", "(", ")", "'", "?", "!", "+", "=", "-": true
    default: false
    }
  }

  private static func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0xFEFF, 0xFFFE, 0xFFFF: true
    default: false
    }
  }
}
