import Foundation

/// A scanner that finds the first byte at which data stops being valid JSON (RFC 8259). It scans once and does not
/// recurse.
///
/// Foundation cannot be used: on Linux, `JSONDecoder` reports no position, and `JSONSerialization` accepts `[1,]`.
struct JSONSyntax: ByteReader {
  private enum Expected {
    case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd, nothing
  }

  let bytes: [UInt8]
  var position = 0
  /// The closing brackets of all open arrays and objects, the innermost last.
  private var closers: [UInt8] = []

  /// Returns the offset of the first invalid byte, which may be the end of the data. Returns `nil` if the data is valid
  /// JSON.
  static func fault(in data: Data) -> Int? {
    var syntax = JSONSyntax(data)
    return syntax.firstFault()
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  private init(_ data: Data) {
    bytes = Array(data)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }  // A byte order mark, which decoders accept.
  }

  private mutating func firstFault() -> Int? {
    var expected = Expected.value
    while true {
      skip(JSONSyntax.isBlank)
      guard let byte = current else { return expected == .nothing ? nil : position }
      guard let next = step(expected, byte) else { return position }
      expected = next
    }
  }

  /// Consumes this byte and the rest of its token. Returns what is expected next, or `nil` if the byte is invalid here.
  private mutating func step(_ expected: Expected, _ byte: UInt8) -> Expected? {
    switch expected {
    case .valueOrEnd where byte == closers.last, .keyOrEnd where byte == closers.last,
      .commaOrEnd where byte == closers.last:
      position += 1
      closers.removeLast()
      return afterValue
    case .value, .valueOrEnd: return value(byte)
    case .key, .keyOrEnd: return string() ? .colon : nil
    case .colon: return take(UInt8(ascii: ":")) ? .value : nil
    case .commaOrEnd:
      guard take(UInt8(ascii: ",")) else { return nil }
      return closers.last == UInt8(ascii: "}") ? .key : .value
    case .nothing: return nil
    }
  }

  private var afterValue: Expected { closers.isEmpty ? .nothing : .commaOrEnd }

  private mutating func value(_ byte: UInt8) -> Expected? {
    switch UnicodeScalar(byte) {
    case "{":
      position += 1
      closers.append(UInt8(ascii: "}"))
      return .keyOrEnd
    case "[":
      position += 1
      closers.append(UInt8(ascii: "]"))
      return .valueOrEnd
    case "\"": return string() ? afterValue : nil
    case "t": return word("true") ? afterValue : nil
    case "f": return word("false") ? afterValue : nil
    case "n": return word("null") ? afterValue : nil
    default: return number() ? afterValue : nil
    }
  }

  private mutating func string() -> Bool {
    guard take(UInt8(ascii: "\"")) else { return false }
    while let byte = current, byte >= 0x20 {
      position += 1
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\"), !escape() { return false }
    }
    return false
  }

  private mutating func escape() -> Bool {
    if take(UInt8(ascii: "u")) { return (0..<4).allSatisfy { _ in take(where: ASCII.isHexDigit) } }
    return take { "\"\\/bfnrt".utf8.contains($0) }
  }

  private mutating func number() -> Bool {
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")), !digits() { return false }
    if take(UInt8(ascii: ".")), !digits() { return false }
    guard take(where: { $0 | 0x20 == UInt8(ascii: "e") }) else { return true }
    _ = take { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
    return digits()
  }

  private mutating func digits() -> Bool {
    let start = position
    skip(ASCII.isDigit)
    return position > start
  }

  private mutating func word(_ word: String) -> Bool { word.utf8.allSatisfy { take($0) } }
}
