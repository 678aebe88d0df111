import Foundation

extension HTTPBody {
  /// The fields of a form, in order, with the type `application/x-www-form-urlencoded`.
  ///
  /// ```swift
  /// request.body = .form([("name", "Ada Lovelace"), ("tag", "a&b")])  // name=Ada+Lovelace&tag=a%26b
  /// ```
  ///
  /// They are written as browsers do (WHATWG URL, section 5.2): letters, digits, `*`, `-`, `.` and `_` as they are, a space
  /// as `+`, every other byte of the UTF-8 percent-encoded. A name may occur more than once.
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
