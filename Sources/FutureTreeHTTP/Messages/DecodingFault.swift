import Foundation

/// The error and the position that a decoder of JSON reported, without any value. The description is a part of a sentence.
package struct DecodingFault: CustomStringConvertible {
  package let description: String

  /// - Parameters:
  ///   - bytes: The bytes that were decoded: the body of the response, or a part of it.
  ///   - part: The name of the bytes.
  ///   - response: The response whose content type is named if the bytes are not JSON.
  package init(_ error: any Error, in bytes: Data, named part: String = "the body", of response: HTTPResponse? = nil) {
    description =
      switch error {
      case _ where bytes.isEmpty:
        "\(part) is empty"
      case DecodingError.keyNotFound(let key, let context):
        "\(CodingPath(keys: context.codingPath + [key])) is missing"
      case DecodingError.valueNotFound(let type, let context):
        "\(CodingPath(keys: context.codingPath)) is null, but must be of type \(type)"
      case DecodingError.typeMismatch(let type, let context):
        "\(CodingPath(keys: context.codingPath)) is not of type \(type)"
      case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
        "\(CodingPath(keys: context.codingPath)) has an invalid value"
      case DecodingError.dataCorrupted where (try? JSONDecoder().decode(Anything.self, from: bytes)) == nil:
        "\(part) is not JSON" + (response.map { ". " + DecodingFault.kind(of: bytes, named: part, $0) } ?? "")
      case DecodingError.dataCorrupted:
        "a value has the wrong type, but the decoder does not report its position"
      default:
        "the decoder failed (\(Swift.type(of: error)))"
      }
  }

  /// A value of any type in JSON.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) {}
  }

  /// Describes the actual kind of the bytes, as a sentence without its period. H11 (nothing printable shows a secret): a page can
  /// contain secrets anywhere, so nothing is copied from it.
  private static func kind(of bytes: Data, named part: String, _ response: HTTPResponse) -> String {
    let start = String(decoding: bytes.prefix(100), as: UTF8.self)
    let isMarkup = start.trimmingPrefix { $0.isWhitespace || $0 == "\u{FEFF}" }.hasPrefix("<")
    return response.contentTypeText + (isMarkup ? ", and \(part) is HTML or XML" : "")
  }
}

extension HTTPResponse {
  /// The content type in lower case without its parameters, or `nil` if there is none.
  var mediaType: String? {
    headers["Content-Type"].map { value in value.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased() }
  }

  /// The content type without its parameters, as a sentence without its period.
  var contentTypeText: String {
    guard let type = mediaType else { return "The response has no content type" }
    let isShown = FieldSyntax.fault(inMediaType: type) == nil && !request.isSensitive(header: "Content-Type")
    return isShown && type.utf8.count <= 60
      ? "The content type is \(type)" : "The content type may contain secrets and is not shown"
  }
}

/// The printable position of a value inside a coded value: `users[2].name`. It contains keys and indexes, never values.
/// The keys of a dictionary are data from the server, so they are printed as `[…]`.
struct CodingPath: CustomStringConvertible {
  let keys: [any CodingKey]

  var description: String {
    guard !keys.isEmpty else { return "its top level" }
    var text = ""
    for key in keys {
      if let index = key.intValue {
        text += "[\(index)]"
      } else if CodingPath.isOfDictionary(key) {
        text += "[…]"
      } else {
        text += (text.isEmpty ? "" : ".") + CodingPath.visible(key.stringValue)
      }
    }
    return text
  }

  /// Returns whether the key belongs to a dictionary. The standard library has a separate type for such keys.
  private static func isOfDictionary(_ key: any CodingKey) -> Bool {
    String(describing: type(of: key)).contains("DictionaryCodingKey")
  }

  /// Returns the key, in quotes if it is not a plain word.
  private static func visible(_ key: String) -> String {
    let isPlain = key.utf8.allSatisfy { $0 == 0x5F || $0 == 0x2D || ASCII.isLetter($0) || ASCII.isDigit($0) }
    return isPlain && !key.isEmpty && key.utf8.count <= 60 ? key : FieldSyntax.visible(key)
  }
}
