import Foundation

extension HTTPBody {
  /// A value as JSON, with the type `application/json`.
  ///
  /// ```swift
  /// request.body = try .json(comment)
  /// ```
  ///
  /// - Parameters:
  ///   - value: what is encoded.
  ///   - encoder: how keys, dates and data are written.
  /// - Throws: `HTTPError` with the code `unencodableBody`, which says where in the value, and not what is there.
  /// - Complexity: O(size of the value); it is encoded at once, on this thread.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(HTTPError) -> HTTPBody {
    do {
      return .data(try encoder.encode(value), contentType: "application/json")
    } catch EncodingError.invalidValue(let part, let context) {
      throw HTTPError(
        .unencodableBody,
        "A value of the type \(type(of: part)) cannot be written as JSON, at \(CodingPath(keys: context.codingPath)) of "
          + "what has the type \(type(of: value)). Change it, or give the encoder a strategy for it.",
        underlying: EncodingError.invalidValue(part, context))
    } catch {
      throw HTTPError(
        .unencodableBody, "The encoding of a value of the type \(type(of: value)) failed. Look at `underlying`.",
        underlying: error)
    }
  }
}
