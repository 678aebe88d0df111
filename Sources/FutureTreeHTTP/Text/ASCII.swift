/// Classes of ASCII bytes, and percent-encoding (RFC 3986, sections 2.1 and 2.3).
package enum ASCII {
  static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

  package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  package static func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }

  package static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  /// Whether percent-encoding leaves the byte as it is: a letter, a digit, `-`, `.`, `_` or `~`.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E
  }

  /// Returns the two hexadecimal digits of a byte, in upper case.
  static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.count == 1 ? "0" + digits : digits
  }

  /// Returns the hexadecimal digits of bytes, in upper case.
  package static func hexadecimal(_ bytes: [UInt8]) -> String { bytes.map(hexadecimal).joined() }

  /// Encodes the UTF-8 bytes of `text`, each as `%` and two digits, except the bytes that `isKept` accepts. Foundation
  /// cannot keep bytes beyond ASCII.
  static func percentEncoded(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isKept(byte) {
        encoded.append(byte)
      } else {
        encoded.append(0x25)
        encoded.append(contentsOf: hexadecimal(byte).utf8)
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Decodes percent-encoded text to bytes. A malformed `%` stays as it is; Foundation returns `nil` for such a string.
  package static func percentDecoded(_ text: some StringProtocol) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == 0x25, digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }
}
