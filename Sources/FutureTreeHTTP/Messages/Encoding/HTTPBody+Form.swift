import Foundation

extension HTTPBody {
  /// Returns a body with the fields of a form, in order, of the type `application/x-www-form-urlencoded`.
  ///
  /// ```swift
  /// request.body = .form([("name", "Ada Lovelace"), ("tag", "a&b")])  // name=Ada+Lovelace&tag=a%26b
  /// ```
  ///
  /// Fields are encoded as browsers encode them (WHATWG URL, section 5.2). Letters, digits, `*`, `-`, `.` and `_` stay as
  /// they are. A space becomes `+`. Every other byte of the UTF-8 text is percent-encoded. A name can occur more than
  /// once.
  public static func form(_ fields: [(String, String)]) -> HTTPBody {
    let text = fields.map { formEncoded($0.0) + "=" + formEncoded($0.1) }.joined(separator: "&")
    return .data(Data(text.utf8), contentType: "application/x-www-form-urlencoded")
  }

  package static func formEncoded(_ text: String) -> String {
    let encoded = ASCII.percentEncoded(text) { byte in
      ASCII.isLetter(byte) || ASCII.isDigit(byte) || "*-._ ".utf8.contains(byte)
    }
    return String(decoding: encoded.utf8.map { $0 == 0x20 ? 0x2B : $0 }, as: UTF8.self)
  }
}
