/// A parser that reads bytes from front to back. It supplies the steps that all parsers of this library share.
package protocol ByteReader {
  var bytes: [UInt8] { get }
  /// The offset of the next byte. It is at most the number of bytes.
  var position: Int { get set }
}

extension ByteReader {
  /// The next byte, or `nil` at the end.
  package var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// Skips the bytes up to the first that does not match.
  package mutating func skip(_ isSkipped: (UInt8) -> Bool) {
    while let byte = current, isSkipped(byte) { position += 1 }
  }

  /// Reads the bytes up to the first that does not match, as text.
  package mutating func text(while isPart: (UInt8) -> Bool) -> String {
    let start = position
    skip(isPart)
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Reads a quoted string (RFC 9110, section 5.6.4), without its quotes and backslashes.
  ///
  /// - Returns: `nil` if the next byte is no quote. `isClosed` is false if the string has no end.
  package mutating func quotedString() -> (text: String, isClosed: Bool)? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    var text: [UInt8] = []
    while var byte = current {
      position += 1
      if byte == UInt8(ascii: "\"") { return (String(decoding: text, as: UTF8.self), true) }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = current else { break }
        position += 1
        byte = escaped
      }
      text.append(byte)
    }
    return (String(decoding: text, as: UTF8.self), false)
  }

  /// Skips the next byte if it is `byte`, and returns whether it is.
  package mutating func take(_ byte: UInt8) -> Bool { take { $0 == byte } }

  /// Skips the next byte if it matches, and returns whether it does.
  package mutating func take(where isTaken: (UInt8) -> Bool) -> Bool {
    guard let byte = current, isTaken(byte) else { return false }
    position += 1
    return true
  }
}
