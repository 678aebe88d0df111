import Foundation

/// The error and the position that a decoder reported, without any value. The description is a part of a sentence.
struct DecodingFault: CustomStringConvertible {
  let description: String

  /// - Parameters:
  ///   - bytes: The bytes that were decoded: the body of the response, or a part of it.
  ///   - part: The name of the bytes.
  init(_ error: any Error, in bytes: Data, named part: String = "the body", of response: HTTPResponse) {
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
      case DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty:
        JSONSyntax.fault(in: bytes).map { offset in
          "\(part) is not JSON at byte \(offset). \(Self.kind(of: bytes, named: part, response))"
        } ?? "a value has the wrong type, but the decoder does not report its position"
      case DecodingError.dataCorrupted(let context):
        "\(CodingPath(keys: context.codingPath)) has an invalid value"
      default:
        "the decoder failed (\(Swift.type(of: error)))"
      }
  }

  /// Describes the actual kind of the bytes, as a sentence without its period.
  private static func kind(of bytes: Data, named part: String, _ response: HTTPResponse) -> String {
    let outline = MarkupOutline(of: bytes, status: response.status)
    return response.contentTypeText + (outline.map { ", and \(part) begins with `\($0)`" } ?? "")
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
