/// The status code of a response (RFC 9110, section 15).
public struct HTTPStatus: Sendable, Hashable, CustomStringConvertible {
  /// The three digits.
  public let code: Int

  /// A status with this code.
  public init(_ code: Int) {
    self.code = code
  }

  /// What was asked for is in the body.
  public static let ok = HTTPStatus(200)
  /// Something was made.
  public static let created = HTTPStatus(201)
  /// It was done, and there is no body.
  public static let noContent = HTTPStatus(204)
  /// What the client has is current.
  public static let notModified = HTTPStatus(304)
  /// The server does not understand the request.
  public static let badRequest = HTTPStatus(400)
  /// The server wants to know who asks.
  public static let unauthorized = HTTPStatus(401)
  /// The server knows who asks, and refuses.
  public static let forbidden = HTTPStatus(403)
  /// There is no such resource.
  public static let notFound = HTTPStatus(404)
  /// The client asks too often.
  public static let tooManyRequests = HTTPStatus(429)
  /// The server failed.
  public static let internalServerError = HTTPStatus(500)
  /// The server cannot answer now.
  public static let serviceUnavailable = HTTPStatus(503)

  /// Whether the code is one of 100 to 199: the answer is still to come (RFC 9110, section 15.2).
  public var isInformational: Bool { (100..<200).contains(code) }

  /// Whether the code is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(code) }

  /// Whether a response with this status has no body, whatever its headers say (RFC 9112, section 6.3).
  public var hasNoBody: Bool { (100..<200).contains(code) || code == 204 || code == 304 }

  /// The three digits.
  public var description: String { String(code) }
}
