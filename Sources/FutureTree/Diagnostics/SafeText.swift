/// Escapes names, reasons and errors, which can contain any text.
package enum SafeText {
  /// Escapes text for one line: line breaks, other control characters, and marks that change the writing direction.
  package static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: breaksLine) else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": line += "\\n"
      case "\t": line += "\\t"
      case "\r": line += "\\r"
      case _ where breaksLine(scalar): line += code(of: scalar)
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }

  /// The scalar as an escape of a Swift string.
  package static func code(of scalar: Unicode.Scalar) -> String {
    "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
  }

  private static func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x2028...0x202E, 0x2060...0x206F, 0x200E, 0x200F, 0xFEFF, 0xFFFE, 0xFFFF: true
    default: false
    }
  }
}
