/// The range of a representation that a response contains (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The positions of the bytes. `nil` if the server could not satisfy the range.
  let bytes: ClosedRange<Int>?
  /// The length of the whole representation. `nil` if the server does not know it.
  let total: Int?

  /// Parses the value of `Content-Range`. Returns `nil` if it is malformed, contradictory or has another unit than bytes.
  init?(_ value: String) {
    var reader = Reader(bytes: Array(value.utf8))
    guard reader.text(while: FieldSyntax.isTokenByte).lowercased() == "bytes", reader.take(0x20) else { return nil }
    if reader.take(UInt8(ascii: "*")) {
      bytes = nil
    } else {
      guard let first = reader.number(), reader.take(UInt8(ascii: "-")), let last = reader.number(), first <= last
      else {
        return nil
      }
      bytes = first...last
    }
    guard reader.take(UInt8(ascii: "/")) else { return nil }
    total = reader.take(UInt8(ascii: "*")) ? nil : reader.number()
    guard reader.current == nil, reader.isValid else { return nil }
    if let bytes, let total, bytes.upperBound >= total { return nil }
    if bytes == nil, total == nil { return nil }
  }

  private struct Reader: ByteReader {
    let bytes: [UInt8]
    var position = 0
    private(set) var isValid = true

    init(bytes: [UInt8]) {
      self.bytes = bytes
    }

    mutating func number() -> Int? {
      let number = Int(text(while: ASCII.isDigit))
      isValid = isValid && number != nil
      return number
    }
  }
}
