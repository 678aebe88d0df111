/// Bytes as text for URLs: base64 with `-` and `_`, without padding (RFC 4648, section 5; RFC 7636, appendix A).
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Three bytes are four characters; one or two at the end are two or three.
  static func encoded(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for position in 0...group.count {
        text.append(alphabet[Int(bits >> (18 - 6 * UInt32(position)) & 0x3F)])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
