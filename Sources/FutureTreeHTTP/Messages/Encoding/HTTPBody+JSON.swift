import Foundation

extension HTTPBody {
  /// Returns a body with a value encoded as JSON, of the type `application/json`.
  ///
  /// ```swift
  /// request.body = try .json(comment)
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - encoder: The encoder, which defines the format of keys, dates and data.
  /// - Throws: `HTTPError` with the code `unencodableBody`. Its message names the position inside the value, not the
  ///   content.
  /// - Complexity: O(size of the value). The value is encoded immediately, on the calling thread.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(HTTPError) -> HTTPBody {
    do {
      return .data(try encoder.encode(value), contentType: "application/json")
    } catch EncodingError.invalidValue(let part, let context) {
      throw HTTPError(
        .unencodableBody,
        "A value of the type \(type(of: part)) cannot be encoded as JSON, at \(CodingPath(keys: context.codingPath)) of "
          + "a value of the type \(type(of: value)). Change it, or set a strategy of the encoder.",
        underlying: EncodingError.invalidValue(part, context))
    } catch {
      throw HTTPError(
        .unencodableBody, "A value of the type \(type(of: value)) could not be encoded. See `underlying`.",
        underlying: error)
    }
  }
}
