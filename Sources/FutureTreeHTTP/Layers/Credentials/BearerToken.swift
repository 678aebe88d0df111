/// A token that gives access to whoever bears it (RFC 6750).
///
/// ```swift
/// let token = try BearerToken("mF_9.B5f-4.1JqM")
/// ```
public struct BearerToken: Sendable, Hashable {
  /// The token itself.
  public let text: String

  /// - Throws: `HTTPError` with the code `invalidCredentials`, if the token is empty or has something other than visible
  ///   ASCII characters. What RFC 6750 calls a `b64token` has fewer, but servers use the others as well.
  public init(_ text: String) throws(HTTPError) {
    guard !text.isEmpty else {
      throw HTTPError(.invalidCredentials, "The token is empty. Leave it out where there is none.")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw HTTPError(
        .invalidCredentials, "The token has a byte that is no visible ASCII character. Was a line end read with it?")
    }
    self.text = text
  }
}

extension BearerToken: HeaderCredentials {
  package var authorization: String { "Bearer " + text }
}

extension BearerToken: HTTPRequestOption {
  /// The layer decides.
  public static var defaultValue: BearerToken? { nil }
}

extension HTTPRequest {
  /// The token of this request, in place of the one that the layer `BearerAuth` has; nil leaves it to the layer.
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
  /// - Throws: `HTTPError` with the code `invalidCredentials`, and what the decoder throws.
  public init(from decoder: any Decoder) throws {
    try self.init(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension BearerToken: CustomStringConvertible, CustomReflectable {
  /// Without the token.
  public var description: String { "BearerToken(…)" }

  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
