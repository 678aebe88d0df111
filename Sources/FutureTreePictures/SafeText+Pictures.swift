import FutureTree

extension SafeText {
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

  /// Escapes text for elements and quoted attributes of HTML and SVG.
  static func html(_ text: String) -> String {
    guard text.utf8.contains(where: { "&<>\"'".utf8.contains($0) }) else { return text }
    return escaped(text) { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      case "'": "&#39;"
      default: nil
      }
    }
  }

  /// Escapes text for a string literal of JSON inside a `script` element.
  static func json(_ text: String) -> String {
    let literal = escaped(line(text)) { scalar in
      switch scalar {
      case "\\": "\\\\"
      case "\"": "\\\""
      case "<", ">", "&": "\\u00\(String(scalar.value, radix: 16))"
      default: nil
      }
    }
    return "\"\(literal)\""
  }

  /// Returns text for one line of a page: escaped as in `line(_:)`, and without towers of combining marks. Text that is longer
  /// than the limit ends with its length.
  static func label(_ text: String, limit: Int = 300) -> String {
    let line = line(text)
    guard !line.utf8.allSatisfy({ $0 < 0x80 }) || line.utf8.count > limit else { return line }
    var label = ""
    var (length, marks) = (0, 0)
    for scalar in line.unicodeScalars {
      guard length < limit else { return "\(label)… (\(text.unicodeScalars.count) characters)" }
      marks = scalar.isCombiningMark ? marks + 1 : 0
      let shown = marks > 4 ? code(of: scalar) : String(scalar)
      label += shown
      length += shown.unicodeScalars.count
    }
    return label
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
}

extension Unicode.Scalar {
  fileprivate var isCombiningMark: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }
}
