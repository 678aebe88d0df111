import Foundation

extension HTTPResponse {
  /// Decodes the body as JSON, regardless of the status.
  ///
  /// ```swift
  /// let user = try response.decoded(as: User.self)
  /// ```
  ///
  /// If the type is optional, a body that is empty or blank is `nil`. Errors name positions and types, never values.
  ///
  /// - Throws: `HTTPError` with the code `undecodableBody`, or the errors of `body`.
  public func decoded<Decoded: Decodable>(
    as type: Decoded.Type = Decoded.self, using decoder: JSONDecoder = JSONDecoder()
  ) throws(HTTPError) -> Decoded {
    let body = try body
    // `Optional` is the only type of the standard library that has an empty value in this sense.
    if body.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }),
      let optional = Decoded.self as? any ExpressibleByNilLiteral.Type,
      let none = optional.init(nilLiteral: ()) as? Decoded
    {
      return none
    }
    do {
      return try decoder.decode(type, from: body)
    } catch {
      throw undecodable(
        "cannot be decoded as \(type): \(DecodingFault(error, in: body, of: self)). Compare the body in `response` with the type.",
        error)
    }
  }

  /// The body as text.
  ///
  /// ```swift
  /// let page = api.get("https://example.com/").map { try $0.text }
  /// ```
  ///
  /// The encoding is that of a byte order mark, otherwise that of the content type, otherwise UTF-8. As in browsers, `ISO-8859-1`
  /// and `US-ASCII` are read as Windows-1252, and bytes that are not UTF-8 become U+FFFD. An encoding that a document names
  /// itself, as HTML can, is not read.
  ///
  /// - Throws: `HTTPError` with the code `undecodableBody` if the encoding is unknown, or does not fit the bytes, or the errors of
  ///   `body`.
  public var text: String {
    get throws(HTTPError) {
      let body = try body
      let charset = headers["Content-Type"].flatMap { FieldParameters($0).parameters["charset"] } ?? "utf-8"
      guard let encoding = TextEncoding(markOf: body) ?? TextEncoding(charset: charset) else {
        throw undecodable("has text in the encoding \(FieldSyntax.visible(charset)), which is unknown. Read `body`.")
      }
      guard let text = encoding.text(of: body) else {
        throw undecodable("has bytes that are no text in the encoding \(FieldSyntax.visible(charset)). Read `body`.")
      }
      return text
    }
  }

  private func undecodable(_ fault: String, _ error: (any Error)? = nil) -> HTTPError {
    HTTPError(.undecodableBody, "The response to \(request) \(fault)", response: self, underlying: error)
  }
}

/// The encoding of a text, by its label in the Encoding Standard of the WHATWG.
private enum TextEncoding {
  case utf8
  case windows1252
  case other(String.Encoding)

  /// Returns the encoding that a byte order mark names.
  init?(markOf bytes: Data) {
    switch bytes.prefix(3) {
    case Data([0xEF, 0xBB, 0xBF]): self = .utf8
    case let start where start.starts(with: [0xFF, 0xFE]): self = .other(.utf16LittleEndian)
    case let start where start.starts(with: [0xFE, 0xFF]): self = .other(.utf16BigEndian)
    default: return nil
    }
  }

  init?(charset: String) {
    switch FieldSyntax.trimmed(charset).lowercased() {
    case "utf-8", "utf8", "unicode-1-1-utf-8": self = .utf8
    case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "us-ascii", "ascii", "windows-1252", "cp1252":
      self = .windows1252
    case "iso-8859-2", "latin2": self = .other(.isoLatin2)
    case "windows-1250", "cp1250": self = .other(.windowsCP1250)
    case "windows-1251", "cp1251": self = .other(.windowsCP1251)
    case "windows-1253", "cp1253": self = .other(.windowsCP1253)
    case "windows-1254", "cp1254", "iso-8859-9", "latin5": self = .other(.windowsCP1254)
    case "shift_jis", "shift-jis", "sjis", "windows-31j": self = .other(.shiftJIS)
    case "euc-jp": self = .other(.japaneseEUC)
    case "iso-2022-jp": self = .other(.iso2022JP)
    case "utf-16", "utf-16le": self = .other(.utf16LittleEndian)
    case "utf-16be": self = .other(.utf16BigEndian)
    default: return nil
    }
  }

  func text(of bytes: Data) -> String? {
    let mark: Character = "\u{FEFF}"
    let text: String? =
      switch self {
      case .utf8: String(decoding: bytes, as: UTF8.self)
      // Five bytes have no character in Windows-1252. In ISO-8859-1, they are control characters.
      case .windows1252: String(data: bytes, encoding: .windowsCP1252) ?? String(data: bytes, encoding: .isoLatin1)
      case .other(let encoding): String(data: bytes, encoding: encoding)
      }
    return text.map { $0.first == mark ? String($0.dropFirst()) : $0 }
  }
}
