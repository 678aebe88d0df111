/// The status code of a response (RFC 9110, section 15).
public struct HTTPStatus: Sendable, Hashable, CustomStringConvertible {
  /// The three digits.
  public let code: Int

  public init(_ code: Int) {
    self.code = code
  }

  public static let ok = HTTPStatus(200)
  public static let created = HTTPStatus(201)
  public static let noContent = HTTPStatus(204)
  public static let notModified = HTTPStatus(304)
  public static let badRequest = HTTPStatus(400)
  public static let unauthorized = HTTPStatus(401)
  public static let forbidden = HTTPStatus(403)
  public static let notFound = HTTPStatus(404)
  public static let tooManyRequests = HTTPStatus(429)
  public static let internalServerError = HTTPStatus(500)
  public static let serviceUnavailable = HTTPStatus(503)

  /// Whether the code is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(code) }

  /// Whether a response with this status has no body, whatever its headers say (RFC 9112, section 6.3).
  public var hasNoBody: Bool { (100..<200).contains(code) || code == 204 || code == 304 }

  public var description: String { "\(code)" }
}
