/// A field value with parameters, such as `attachment; filename="a.txt"` (RFC 9110, section 5.6.6). Tolerant: a malformed part is
/// skipped.
struct FieldParameters {
  /// The text before the first semicolon, in lower case.
  let value: String
  /// The parameters. The keys are names in lower case. Of several with one name, the first counts.
  let parameters: [String: String]

  init(_ field: String) {
    var reader = Reader(bytes: Array(field.utf8))
    value = reader.part()
    parameters = reader.parameters()
  }

  private struct Reader: ByteReader {
    let bytes: [UInt8]
    var position = 0

    /// Reads the text up to the next semicolon, in lower case and without blanks at its ends.
    mutating func part() -> String {
      FieldSyntax.trimmed(text { $0 != UInt8(ascii: ";") }).lowercased()
    }

    mutating func parameters() -> [String: String] {
      var parameters: [String: String] = [:]
      while take(UInt8(ascii: ";")) {
        let name = FieldSyntax.trimmed(text { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }).lowercased()
        guard take(UInt8(ascii: "=")) else { continue }
        skip(FieldSyntax.isBlank)
        let value = quotedString()?.text ?? FieldSyntax.trimmed(text { $0 != UInt8(ascii: ";") })
        skip { $0 != UInt8(ascii: ";") }
        if !name.isEmpty, parameters[name] == nil { parameters[name] = value }
      }
      return parameters
    }
  }
}
