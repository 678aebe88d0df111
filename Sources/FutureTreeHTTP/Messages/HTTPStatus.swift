/// The status code of a response (RFC 9110, section 15).
public struct HTTPStatus: Sendable, Hashable, CustomStringConvertible {
  /// The three-digit code.
  public let code: Int

  /// Creates a status with this code.
  public init(_ code: Int) {
    self.code = code
  }

  /// The request succeeded; the body is the result.
  public static let ok = HTTPStatus(200)
  /// The request succeeded and created a resource.
  public static let created = HTTPStatus(201)
  /// The request succeeded; there is no body.
  public static let noContent = HTTPStatus(204)
  /// The client's copy of the resource is current.
  public static let notModified = HTTPStatus(304)
  /// The server does not understand the request.
  public static let badRequest = HTTPStatus(400)
  /// The request needs valid credentials.
  public static let unauthorized = HTTPStatus(401)
  /// The server refuses the request of this client.
  public static let forbidden = HTTPStatus(403)
  /// The resource does not exist.
  public static let notFound = HTTPStatus(404)
  /// The client sends too many requests.
  public static let tooManyRequests = HTTPStatus(429)
  /// The server failed.
  public static let internalServerError = HTTPStatus(500)
  /// The server cannot respond at present.
  public static let serviceUnavailable = HTTPStatus(503)

  /// Whether the code is in 100 to 199: the final response follows (RFC 9110, section 15.2).
  public var isInformational: Bool { (100..<200).contains(code) }

  /// Whether the code is in 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(code) }

  /// Whether a response with this status never has a body, regardless of its headers (RFC 9112, section 6.3).
  public var hasNoBody: Bool { (100..<200).contains(code) || code == 204 || code == 304 }

  /// The three-digit code.
  public var description: String { String(code) }
}
