/// What may stand in a request line and in a header field (RFC 9110, sections 5.1, 5.5 and 5.6.2).
package enum FieldSyntax {
  /// What is wrong with a method or a field name, as the rest of a sentence; nil if nothing is.
  static func fault(inToken text: String) -> String? {
    guard !text.isEmpty else { return "is empty" }
    return firstIndex(in: text) { !isTokenByte($0) }.map { fault(at: $0, in: text) }
  }

  /// What is wrong with a field value, as the rest of a sentence; nil if nothing is.
  ///
  /// Bytes beyond ASCII are refused with the control bytes: what would stand on the wire depends on the platform.
  static func fault(inValue text: String) -> String? {
    if let index = firstIndex(in: text, where: { !isValueByte($0) }) { return fault(at: index, in: text) }
    if let first = text.utf8.first, isBlank(first) { return "begins with a blank, which would be cut off" }
    if let last = text.utf8.last, isBlank(last) { return "ends with a blank, which would be cut off" }
    return nil
  }

  /// Returns the index of the first byte that satisfies a condition. Searching contiguous bytes is several times as fast as
  /// searching a `String`.
  private static func firstIndex(in text: String, where condition: (UInt8) -> Bool) -> String.Index? {
    let utf8 = text.utf8
    let offset = utf8.withContiguousStorageIfAvailable { bytes in bytes.firstIndex(where: condition) }
    guard let offset else { return utf8.firstIndex(where: condition) }
    return offset.map { utf8.index(utf8.startIndex, offsetBy: $0) }
  }

  /// What is wrong with a media type such as `text/plain; charset="utf-8"`, as the rest of a sentence (RFC 9110, 8.3.1).
  static func fault(inMediaType text: String) -> String? {
    if let fault = fault(inValue: text) { return fault }
    var rest = text.utf8[...]
    guard dropToken(&rest), rest.popFirst() == UInt8(ascii: "/"), dropToken(&rest) else { return "has no type/subtype" }
    while !rest.isEmpty {
      rest = rest.drop { isBlank($0) }
      guard rest.popFirst() == UInt8(ascii: ";") else { return "has something other than ; after its type" }
      rest = rest.drop { isBlank($0) }
      guard dropToken(&rest), rest.popFirst() == UInt8(ascii: "="), dropToken(&rest) || dropQuoted(&rest) else {
        return "has a parameter that is no name=value"
      }
    }
    return nil
  }

  /// The elements of a list, without empty ones and without the blanks around them; commas in quotes separate nothing.
  static func elements(of value: String) -> [String] {
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

  private static func dropToken(_ rest: inout Substring.UTF8View) -> Bool {
    let after = rest.drop { isTokenByte($0) }
    defer { rest = after }
    return after.startIndex != rest.startIndex
  }

  /// RFC 9110, 5.6.4. The bytes are those of a field value, so that a backslash quotes any of them.
  private static func dropQuoted(_ rest: inout Substring.UTF8View) -> Bool {
    guard rest.first == UInt8(ascii: "\"") else { return false }
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
    }
    return false
  }

  /// The text in quotes, with everything that is not printable ASCII escaped, and at most 60 bytes of it.
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

  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch UnicodeScalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9": true
    case "!", "#", "$", "%", "&", "'", "*", "+", "-", ".", "^", "_", "`", "|", "~": true
    default: false
    }
  }

  private static func isValueByte(_ byte: UInt8) -> Bool { byte == 0x09 || (0x20...0x7E).contains(byte) }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
