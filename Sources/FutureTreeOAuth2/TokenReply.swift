import Foundation
import FutureTreeHTTP

/// The parsed response of a token endpoint (RFC 6749, sections 5.1 and 5.2). Parsing is strict.
enum TokenReply {
  case credential(OAuth2Credential)
  /// The `error` of a refusal.
  case refused(String)

  /// The maximum size of a response in bytes.
  static let maximumSize = 1 << 20
  /// The maximum lifetime of a token in seconds: 100 years.
  static let longestLife: TimeInterval = 3_155_760_000

  /// - Parameters:
  ///   - response: The response.
  ///   - sent: The date at which the request was sent. Lifetimes are counted from it.
  ///   - old: The credential whose refresh token is kept if the response has no new one (section 6).
  /// - Throws: `HTTPError` with the code `invalidTokenResponse`.
  init(_ response: HTTPResponse, sent: Date, replacing old: OAuth2Credential?) throws(HTTPError) {
    guard response.bodySize <= TokenReply.maximumSize else {
      throw TokenReply.invalid("has \(response.bodySize) bytes. The limit is \(TokenReply.maximumSize)")
    }
    let body = try response.body
    guard response.status.isSuccess || (400..<500).contains(response.status.code) else {
      throw TokenReply.invalid("has the status \(response.status)")
    }
    // The error of the decoder is omitted, because it may contain values.
    guard body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{"),
      let fields = try? JSONDecoder().decode(Fields.self, from: body)
    else {
      throw TokenReply.invalid("has the status \(response.status) and is not a JSON object with the fields of a token")
    }
    if let error = fields.error {
      self = .refused(TokenReply.knownErrors.contains(error) ? error : "another error")
      return
    }
    guard response.status.isSuccess else {
      throw TokenReply.invalid("has the status \(response.status) and no error")
    }
    self = .credential(try TokenReply.credential(fields, sent: sent, replacing: old))
  }

  /// The error codes of RFC 6749, section 5.2, and RFC 8628, section 3.5. Other strings are not shown, because a server
  /// may repeat the data of the request in them.
  private static let knownErrors: Set<String> = [
    "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
    "invalid_scope", "invalid_target", "access_denied", "server_error", "temporarily_unavailable",
    "authorization_pending", "slow_down", "expired_token",
  ]

  private static func credential(
    _ fields: Fields, sent: Date, replacing old: OAuth2Credential?
  ) throws(HTTPError) -> OAuth2Credential {
    guard let type = fields.tokenType, type.lowercased() == "bearer" else {
      throw invalid("has a token_type other than Bearer, or none")
    }
    guard let text = fields.accessToken, let token = try? BearerToken(text) else {
      throw invalid("has no valid access_token")
    }
    if fields.refreshToken?.isEmpty == true { throw invalid("has an empty refresh_token") }
    let life = fields.expiresIn.map { min(max($0.seconds, 0), longestLife) }
    return OAuth2Credential(
      accessToken: token, refreshToken: fields.refreshToken ?? old?.refreshToken,
      expires: life.map { sent.addingTimeInterval($0) }, scope: fields.scope ?? old?.scope)
  }

  private static func invalid(_ fault: String) -> HTTPError {
    HTTPError(
      .invalidTokenResponse,
      "The response of the token endpoint \(fault). Check the server (RFC 6749, section 5).")
  }

  private struct Fields: Decodable {
    let accessToken: String?
    let tokenType: String?
    let expiresIn: Seconds?
    let refreshToken: String?
    let scope: String?
    let error: String?

    enum CodingKeys: String, CodingKey {
      case accessToken = "access_token"
      case tokenType = "token_type"
      case expiresIn = "expires_in"
      case refreshToken = "refresh_token"
      case scope, error
    }
  }

  /// A number, or a string of digits, which some servers send.
  private struct Seconds: Decodable {
    let seconds: TimeInterval

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isDigit), let number = Double(text) else {
          throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a number")
        }
        seconds = number
      } else {
        seconds = try container.decode(Double.self)
      }
    }
  }
}
