import Foundation

/// The conversion of international host names to the names that DNS has (UTS 46), by the platform.
package enum InternationalHost {
  /// Returns the name in lowercase ASCII, such as `xn--bcher-kva.example` for `bücher.example`.
  ///
  /// - Returns: `nil` if the name is ASCII or no international name. A label that the conversion makes ASCII, such as one of fullwidth
  ///   digits, is none: it would be a name, or an address, that a check of the text does not see.
  package static func ascii(_ name: some StringProtocol) -> String? {
    // Other ASCII bytes would be delimiters for the platform.
    func isPart(_ byte: UInt8) -> Bool {
      byte >= 0x80 || ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._".utf8.contains(byte)
    }
    guard name.utf8.contains(where: { $0 >= 0x80 }), name.utf8.allSatisfy(isPart),
      let host = URLComponents(string: "http://\(name)/")?.encodedHost?.lowercased()
    else { return nil }
    let (labels, encoded) = (name.split(separator: "."), host.split(separator: "."))
    let isSame = zip(labels, encoded).allSatisfy { label, encoded in
      if label.utf8.allSatisfy({ $0 < 0x80 }) { return label.lowercased() == encoded }
      return encoded.hasPrefix("xn--") && !isASCIIInDisguise(String(label))
    }
    return isSame && labels.count == encoded.count ? host : nil
  }

  /// Returns whether a label is ASCII without the characters that the conversion ignores, and with the others replaced as it does.
  private static func isASCIIInDisguise(_ label: String) -> Bool {
    label.precomposedStringWithCompatibilityMapping.unicodeScalars.allSatisfy {
      $0.isASCII || $0.properties.isDefaultIgnorableCodePoint
    }
  }

  /// Returns a URL reference whose host is in ASCII. The rest is unchanged, and so is a text without an international host.
  ///
  /// The text is read by bytes: a combining character after a delimiter must not hide it.
  static func converted(_ reference: String) -> String {
    let bytes = reference.utf8
    guard bytes.contains(where: { $0 >= 0x80 }) else { return reference }
    let start = bytes.firstIndex { "/?#:".utf8.contains($0) } ?? bytes.endIndex
    let isAfterScheme = bytes[start...].first == UInt8(ascii: ":")
    guard isAfterScheme ? URLReference.isScheme(Substring(bytes[..<start])) : start == bytes.startIndex else {
      return reference
    }
    let marked = bytes[start...].dropFirst(isAfterScheme ? 1 : 0)
    guard marked.starts(with: "//".utf8) else { return reference }
    let rest = marked.dropFirst(2)
    let end = rest.firstIndex { "/?#:".utf8.contains($0) } ?? rest.endIndex
    guard let host = ascii(String(decoding: rest[..<end], as: UTF8.self)) else { return reference }
    let (before, after) = (bytes[..<rest.startIndex], rest[end...])
    return String(decoding: before, as: UTF8.self) + host + String(decoding: after, as: UTF8.self)
  }
}
