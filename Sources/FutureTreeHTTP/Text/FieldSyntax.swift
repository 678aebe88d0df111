/// The syntax of request lines and header fields (RFC 9110, sections 5.1, 5.5 and 5.6.2).
package enum FieldSyntax {
  /// Returns what is wrong with a method or a field name, as the rest of a sentence. Returns `nil` if it is valid.
  static func fault(inToken text: String) -> String? {
    guard !text.isEmpty else { return "is empty" }
    return firstIndex(in: text) { !isTokenByte($0) }.map { fault(at: $0, in: text) }
  }

  /// Returns what is wrong with a field value, as the rest of a sentence. Returns `nil` if it is valid.
  ///
  /// Control bytes are refused. Bytes beyond ASCII are valid only in a value from a server (`obs-text`, RFC 9110, section 5.5).
  static func fault(inValue text: String, isReceived: Bool = false) -> String? {
    let fault = firstIndex(in: text) { !isValueByte($0) && !(isReceived && $0 >= 0x80) }
    if let fault { return self.fault(at: fault, in: text) }
    if let first = text.utf8.first, isBlank(first) { return "begins with a space, which would be removed" }
    if let last = text.utf8.last, isBlank(last) { return "ends with a space, which would be removed" }
    return nil
  }

  /// Returns the first byte that matches the condition. A search in contiguous storage is several times as fast as in the
  /// string.
  private static func firstIndex(in text: String, where condition: (UInt8) -> Bool) -> String.Index? {
    let utf8 = text.utf8
    let offset = utf8.withContiguousStorageIfAvailable { bytes in bytes.firstIndex(where: condition) }
    guard let offset else { return utf8.firstIndex(where: condition) }
    return offset.map { utf8.index(utf8.startIndex, offsetBy: $0) }
  }

  /// Returns what is wrong with a media type such as `text/plain; charset="utf-8"`, as the rest of a sentence (RFC 9110,
  /// section 8.3.1). Returns `nil` if it is valid.
  static func fault(inMediaType text: String) -> String? {
    if let fault = fault(inValue: text) { return fault }
    var rest = text.utf8[...]
    guard dropToken(&rest), rest.popFirst() == UInt8(ascii: "/"), dropToken(&rest) else { return "has no type/subtype" }
    while !rest.isEmpty {
      rest = rest.drop { isBlank($0) }
      guard rest.popFirst() == UInt8(ascii: ";") else { return "has something other than ; after its type" }
      rest = rest.drop { isBlank($0) }
      guard dropToken(&rest), rest.popFirst() == UInt8(ascii: "="), dropToken(&rest) || dropQuoted(&rest) else {
        return "has a parameter that is not name=value"
      }
    }
    return nil
  }

  /// Returns the elements of a list, without empty elements and surrounding whitespace. Commas inside quotes do not
  /// separate elements.
  package static func elements(of value: String) -> [String] {
    var elements: [String] = []
    var rest = value.utf8[...]
    while !rest.isEmpty {
      let start = rest.startIndex
      while let byte = rest.first, byte != UInt8(ascii: ",") {
        if !dropQuoted(&rest) { rest = rest.dropFirst() }
      }
      let element = value.utf8[start..<rest.startIndex].drop { isBlank($0) }
      let trailing = element.reversed().prefix { isBlank($0) }.count
      if let text = String(element.dropLast(trailing)), !text.isEmpty { elements.append(text) }
      rest = rest.dropFirst()
    }
    return elements
  }

  /// Returns the text without whitespace at its ends.
  package static func trimmed(_ text: String) -> String {
    let bytes = text.utf8
    guard let first = bytes.first, let last = bytes.last, isBlank(first) || isBlank(last) else {
      return text
    }
    guard let start = bytes.firstIndex(where: { !isBlank($0) }),
      let end = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(Substring(bytes[start...end]))
  }

  /// Parses a number of seconds that a server sent: digits, as the RFCs require, or digits with a fraction.
  package static func seconds(_ value: String) -> Double? {
    let fraction = value.utf8.drop(while: ASCII.isDigit)
    guard let first = value.utf8.first, ASCII.isDigit(first), fraction.isEmpty || fraction.first == UInt8(ascii: "."),
      fraction.dropFirst().allSatisfy(ASCII.isDigit)
    else { return nil }
    return Double(value)
  }

  private static func dropToken(_ rest: inout Substring.UTF8View) -> Bool {
    let after = rest.drop { isTokenByte($0) }
    defer { rest = after }
    return after.startIndex != rest.startIndex
  }

  /// Returns whether two values have the same bytes. Equal strings can have other bytes: an accented letter has two forms.
  package static func haveSameBytes(_ first: String, _ second: String) -> Bool { first.utf8.elementsEqual(second.utf8) }

  /// Removes a quoted string (RFC 9110, section 5.6.4). All bytes are valid bytes of a field value, so a backslash can
  /// quote any of them.
  private static func dropQuoted(_ rest: inout Substring.UTF8View) -> Bool {
    guard rest.first == UInt8(ascii: "\"") else { return false }
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
    }
    return false
  }

  /// Returns the text in quotes. Bytes other than printable ASCII are escaped, and only the first 60 bytes are shown.
  package static func visible(_ text: String) -> String {
    let shown = text.utf8.prefix(60).map { byte in
      (0x20...0x7E).contains(byte) ? String(UnicodeScalar(byte)) : "\\x" + ASCII.hexadecimal(byte)
    }
    return "\"" + shown.joined() + (text.utf8.count > 60 ? "…" : "") + "\""
  }

  private static func fault(at index: String.Index, in text: String) -> String {
    let byte = text.utf8[index]
    let name =
      switch byte {
      case 0x00: "NUL"
      case 0x0A: "LF"
      case 0x0D: "CR"
      case 0x20: "a space"
      case 0x21...0x7E: "\"\(UnicodeScalar(byte))\""
      default: "the byte 0x\(ASCII.hexadecimal(byte))"
      }
    return "has \(name) at offset \(text.utf8.distance(from: text.startIndex, to: index))"
  }

  package static func isTokenByte(_ byte: UInt8) -> Bool {
    switch UnicodeScalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9": true
    case "!", "#", "$", "%", "&", "'", "*", "+", "-", ".", "^", "_", "`", "|", "~": true
    default: false
    }
  }

  /// Whether no value of a field may have the byte: a control character other than a tab.
  package static func isControlByte(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

  private static func isValueByte(_ byte: UInt8) -> Bool { byte == 0x09 || (0x20...0x7E).contains(byte) }

  package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
