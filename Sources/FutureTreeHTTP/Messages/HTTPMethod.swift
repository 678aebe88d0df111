/// The method of a request, such as `GET`.
///
/// ```swift
/// let purge = try HTTPMethod("PURGE")
/// ```
///
/// Methods are case-sensitive tokens (RFC 9110, section 9.1). Anything else is refused: a line break in a method would put
/// lines of its own into the request.
///
/// - Note: `URLSession` on Linux sends methods in upper case, whatever is given.
public struct HTTPMethod: Sendable, Hashable, CustomStringConvertible {
  /// The method as it is sent.
  public let name: String

  /// - Throws: `HTTPError` with the code `invalidMethod` if `name` is not a token.
  public init(_ name: String) throws(HTTPError) {
    if let fault = FieldSyntax.fault(inToken: name) {
      throw HTTPError(.invalidMethod, "The method \(FieldSyntax.visible(name)) \(fault). Use a token such as GET.")
    }
    self.name = name
  }

  private init(known name: String) {
    self.name = name
  }

  /// Asks for the resource (RFC 9110, section 9.3.1).
  public static let get = HTTPMethod(known: "GET")
  /// Asks for the header fields of the resource (9.3.2).
  public static let head = HTTPMethod(known: "HEAD")
  /// Hands the body to the resource (9.3.3).
  public static let post = HTTPMethod(known: "POST")
  /// Puts the body in the place of the resource (9.3.4).
  public static let put = HTTPMethod(known: "PUT")
  /// Changes the resource as the body says (RFC 5789).
  public static let patch = HTTPMethod(known: "PATCH")
  /// Removes the resource (9.3.5).
  public static let delete = HTTPMethod(known: "DELETE")
  /// Asks what can be done with the resource (9.3.7).
  public static let options = HTTPMethod(known: "OPTIONS")

  /// Whether it asks for nothing to change (RFC 9110, section 9.2.1).
  public var isSafe: Bool { [.get, .head, .options, HTTPMethod(known: "TRACE")].contains(self) }

  /// Whether to send it twice is to send it once (RFC 9110, section 9.2.2).
  public var isIdempotent: Bool { isSafe || [.put, .delete].contains(self) }

  /// The method that a platform may make of it: they send those that they know in upper case.
  var inUpperCase: HTTPMethod { HTTPMethod(known: name.uppercased()) }

  /// The method as it is sent.
  public var description: String { name }
}
