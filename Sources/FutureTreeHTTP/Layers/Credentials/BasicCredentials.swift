import Foundation

/// A user name and a password (RFC 7617).
///
/// ```swift
/// let credentials = try BasicCredentials(userName: "Aladdin", password: "open sesame")
/// ```
///
/// Both are sent as UTF-8 without normalization. If the server requires a normalized form (RFC 8265), normalize both
/// before you create the credentials.
public struct BasicCredentials: Sendable, Hashable {
  /// The user name.
  public let userName: String
  /// The password.
  public let password: String

  /// Creates credentials.
  ///
  /// - Throws: `HTTPError` with the code `invalidCredentials` if the user name contains a colon, which would end it, or
  ///   either text contains a control character.
  public init(userName: String, password: String) throws(HTTPError) {
    guard !userName.unicodeScalars.contains(":") else {
      throw HTTPError(
        .invalidCredentials,
        "The user name contains a colon. Basic authentication (RFC 7617) does not allow it. Use another name.")
    }
    for (part, text) in [("user name", userName), ("password", password)] {
      guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
        throw HTTPError(
          .invalidCredentials,
          "The \(part) contains a control character. Basic authentication (RFC 7617) does not allow it. Remove it.")
      }
    }
    self.userName = userName
    self.password = password
  }
}

extension BasicCredentials: HeaderCredentials {
  var authorization: String { "Basic " + Data("\(userName):\(password)".utf8).base64EncodedString() }
}

extension BasicCredentials: HTTPRequestOption {
  /// `nil`: the layer uses its own credentials.
  public static var defaultValue: BasicCredentials? { nil }
}

extension HTTPRequest {
  /// The credentials of this request, which replace those of the layer `BasicAuth`. If they are `nil`, the layer uses
  /// its own.
  ///
  /// ```swift
  /// request.basicCredentials = try BasicCredentials(userName: "Ada", password: password)
  /// ```
  public var basicCredentials: BasicCredentials? {
    get { self[option: BasicCredentials.self] }
    set { self[option: BasicCredentials.self] = newValue }
  }
}

extension BasicCredentials: CustomStringConvertible, CustomReflectable {
  /// A fixed text, which shows neither the user name nor the password.
  public var description: String { "BasicCredentials(…)" }

  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
