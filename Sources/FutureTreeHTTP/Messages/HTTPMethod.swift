/// The method of a request, such as `GET`.
///
/// ```swift
/// let purge = try HTTPMethod("PURGE")
/// ```
///
/// Methods are case-sensitive tokens (RFC 9110, section 9.1). Other strings are refused, because a line break in a method
/// would add lines to the request.
///
/// - Note: `URLSession` on Linux sends methods in upper case, regardless of their spelling.
public struct HTTPMethod: Sendable, Hashable, CustomStringConvertible {
  /// The method as it is sent.
  public let name: String

  /// Creates a method.
  ///
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

  /// Requests the resource (RFC 9110, section 9.3.1).
  public static let get = HTTPMethod(known: "GET")
  /// Requests the header fields of the resource (RFC 9110, section 9.3.2).
  public static let head = HTTPMethod(known: "HEAD")
  /// Submits the body to the resource (RFC 9110, section 9.3.3).
  public static let post = HTTPMethod(known: "POST")
  /// Replaces the resource with the body (RFC 9110, section 9.3.4).
  public static let put = HTTPMethod(known: "PUT")
  /// Changes the resource as the body describes (RFC 5789).
  public static let patch = HTTPMethod(known: "PATCH")
  /// Removes the resource (RFC 9110, section 9.3.5).
  public static let delete = HTTPMethod(known: "DELETE")
  /// Requests the result of the query in the body, and changes nothing (the IETF draft *The HTTP QUERY Method*).
  ///
  /// It is safe, so that it is repeated as `GET` is.
  public static let query = HTTPMethod(known: "QUERY")
  /// Requests the communication options of the resource (RFC 9110, section 9.3.7).
  public static let options = HTTPMethod(known: "OPTIONS")

  static let trace = HTTPMethod(known: "TRACE")

  /// Whether the method requests no change on the server (RFC 9110, section 9.2.1).
  public var isSafe: Bool { [.get, .head, .query, .options, .trace].contains(self) }

  /// Whether several identical requests have the same effect as one (RFC 9110, section 9.2.2).
  public var isIdempotent: Bool { isSafe || [.put, .delete].contains(self) }

  /// The method in upper case. Platforms may send known methods this way.
  var inUpperCase: HTTPMethod { HTTPMethod(known: name.uppercased()) }

  /// Whether a response has no body because of this method.
  var isHead: Bool { name.utf8.count == 4 && inUpperCase == .head }

  /// The method as it is sent.
  public var description: String { name }
}
