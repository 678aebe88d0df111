/// A bearer token (RFC 6750).
///
/// ```swift
/// let token = try BearerToken("mF_9.B5f-4.1JqM")
/// ```
public struct BearerToken: Sendable, Hashable {
  /// The text of the token.
  public let text: String

  /// Creates a token.
  ///
  /// - Throws: `HTTPError` with the code `invalidCredentials` if the token is empty, or contains characters other than
  ///   visible ASCII. The `b64token` of RFC 6750 allows fewer characters, but servers use the others as well.
  public init(_ text: String) throws(HTTPError) {
    guard !text.isEmpty else {
      throw HTTPError(.invalidCredentials, "The token is empty. Pass `nil` if there is no token.")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw HTTPError(
        .invalidCredentials, "The token contains a character that is not visible ASCII. Remove line breaks and spaces.")
    }
    self.text = text
  }
}

extension BearerToken: HeaderCredentials {
  package var authorization: String { "Bearer " + text }
}

extension BearerToken: HTTPRequestOption {
  /// `nil`: the layer uses its own token.
  public static var defaultValue: BearerToken? { nil }
}

extension HTTPRequest {
  /// The token of this request, which replaces the token of the layer `BearerAuth`. If it is `nil`, the layer uses its
  /// own.
  ///
  /// ```swift
  /// request.bearerToken = try BearerToken(text)
  /// ```
  public var bearerToken: BearerToken? {
    get { self[option: BearerToken.self] }
    set { self[option: BearerToken.self] = newValue }
  }
}

extension BearerToken: Codable {
  /// Decodes a token from a string.
  ///
  /// - Throws: `HTTPError` with the code `invalidCredentials`, or an error of the decoder.
  public init(from decoder: any Decoder) throws {
    try self.init(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension BearerToken: CustomStringConvertible, CustomReflectable {
  /// A fixed text, which does not show the token.
  public var description: String { "BearerToken(…)" }

  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
