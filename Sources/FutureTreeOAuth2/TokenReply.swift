import Foundation
import FutureTreeHTTP

/// The parsed response of a token endpoint (RFC 6749, sections 5.1 and 5.2).
///
/// Forms that other servers send are read as well: no `token_type`, a scope as an array, a lifetime as text, members that are
/// empty or null, a byte order mark, another content type, and forms instead of JSON. A member with an unexpected type is
/// refused, and so is a `token_type` other than `Bearer`: the meaning of the credential would be a guess.
enum TokenReply {
  case credential(OAuth2Credential)
  case refused(TokenRefusal)

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
    let status = response.status
    if TokenRefusal.isTransient(status) {
      self = .refused(TokenRefusal(.transient, "the status \(status)"))
      return
    }
    guard response.bodySize <= TokenReply.maximumSize else {
      throw TokenReply.invalid("has \(response.bodySize) bytes. The limit is \(TokenReply.maximumSize)")
    }
    guard status.isSuccess || (400..<500).contains(status.code) else {
      throw TokenReply.invalid("has the status \(status)")
    }
    let members = TokenMembers(try response.body, contentType: response.headers["Content-Type"])
    if let error = members?["error"] {
      self = .refused(TokenRefusal(named: error.text, status))
    } else if status == .unauthorized {
      self = .refused(TokenRefusal(.unauthorized, "the status \(status)"))
    } else if let members, status.isSuccess {
      self = .credential(try TokenReply.credential(members, sent: sent, replacing: old))
    } else {
      throw TokenReply.invalid(
        "has the status \(status) and " + (members == nil ? "is not a JSON object" : "no error"))
    }
  }

  private static func credential(
    _ members: TokenMembers, sent: Date, replacing old: OAuth2Credential?
  ) throws(HTTPError) -> OAuth2Credential {
    let type = try members.text("token_type")?.lowercased() ?? "bearer"
    guard type == "bearer" || type == "bearertoken" else { throw invalid("has a token_type other than Bearer") }
    guard let text = try members.text("access_token"), let token = try? BearerToken(text) else {
      throw invalid("has no valid access_token")
    }
    let life = try members.seconds("expires_in").map { min(max($0, 0), longestLife) }
    return OAuth2Credential(
      accessToken: token, refreshToken: try members.text("refresh_token") ?? old?.refreshToken,
      expires: life.map { sent.addingTimeInterval($0) }, scope: try members.text("scope") ?? old?.scope)
  }

  fileprivate static func invalid(_ fault: String) -> HTTPError {
    HTTPError(
      .invalidTokenResponse,
      "The response of the token endpoint \(fault). Check the server (RFC 6749, section 5), or change the response with "
        + "`adaptReply`.")
  }
}

/// A refusal of a token endpoint.
struct TokenRefusal: Equatable {
  enum Meaning {
    /// The refresh token, the code or the login is no longer valid.
    case invalidGrant
    /// The client, or the kind of its request, is not accepted.
    case invalidClient
    /// The server refused the request with 401, for an unknown reason.
    case unauthorized
    /// The same request can succeed later.
    case transient
    case unknown
  }

  let meaning: Meaning
  /// The known error or the status, for the texts of errors.
  let reason: String

  init(_ meaning: Meaning, _ reason: String) {
    self.meaning = meaning
    self.reason = reason
  }

  /// - Parameter error: The error of the server. An unknown one is not shown, because a server may repeat the data of the
  ///   request in it.
  init(named error: String?, _ status: HTTPStatus) {
    let error = error?.lowercased() ?? ""
    if let meaning = TokenRefusal.meanings[error] {
      self.init(meaning, "\"\(error)\"")
    } else {
      self.init(status == .unauthorized ? .unauthorized : .unknown, "another error")
    }
  }

  /// Whether a status means that the same request can succeed later, whatever the body reports.
  static func isTransient(_ status: HTTPStatus) -> Bool {
    status.code >= 500 || [408, 425, 429].contains(status.code)
  }

  /// The errors of RFC 6749, section 5.2, RFC 6750, section 3.1, RFC 8628, section 3.5, RFC 8707, section 2, and OpenID Connect
  /// Core, section 3.1.2.6, and those of large services.
  private static let meanings: [String: Meaning] = [
    "invalid_grant": .invalidGrant, "invalid_token": .invalidGrant, "expired_token": .invalidGrant,
    "access_denied": .invalidGrant, "login_required": .invalidGrant, "consent_required": .invalidGrant,
    "interaction_required": .invalidGrant, "account_selection_required": .invalidGrant,
    "bad_refresh_token": .invalidGrant, "invalid_refresh_token": .invalidGrant, "token_expired": .invalidGrant,
    "token_revoked": .invalidGrant, "bad_verification_code": .invalidGrant,
    "invalid_client": .invalidClient, "unauthorized_client": .invalidClient, "invalid_request": .invalidClient,
    "unsupported_grant_type": .invalidClient, "invalid_scope": .invalidClient, "invalid_target": .invalidClient,
    "incorrect_client_credentials": .invalidClient,
    "temporarily_unavailable": .transient, "server_error": .transient, "slow_down": .transient,
    "authorization_pending": .transient,
  ]
}

/// The members of a reply. A member that is null or empty counts as missing.
private struct TokenMembers {
  enum Value: Decodable {
    case none
    case text(String)
    case number(Double)
    case other

    init(_ text: String) {
      self = text.isEmpty ? .none : .text(text)
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .none
      } else if let text = try? container.decode(String.self) {
        self.init(text)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else if let texts = try? container.decode([String].self) {
        self.init(texts.joined(separator: " "))
      } else {
        self = .other
      }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
  }

  private let values: [String: Value]

  /// Creates the members of a JSON object, or of a form if the server says that it sent one. Returns `nil` for other bodies.
  init?(_ body: Data, contentType: String?) {
    let body = body.starts(with: [0xEF, 0xBB, 0xBF]) ? body.dropFirst(3) : body  // A byte order mark.
    if body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{") {
      // The error of the decoder is omitted, because it may contain values.
      guard let values = try? JSONDecoder().decode([String: Value].self, from: Data(body)) else { return nil }
      self.values = values
    } else {
      guard contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true,
        let fields = FormFields.parsed(String(decoding: body, as: UTF8.self))
      else { return nil }
      values = fields.mapValues { Value($0) }
    }
  }

  subscript(name: String) -> Value? {
    if case .none? = values[name] { nil } else { values[name] }
  }

  func text(_ name: String) throws(HTTPError) -> String? {
    guard let value = self[name] else { return nil }
    guard case .text(let text) = value else { throw TokenReply.invalid("has a member \(name) that is not a text") }
    return text
  }

  /// Returns a number, even if it is written as text.
  func seconds(_ name: String) throws(HTTPError) -> TimeInterval? {
    guard let value = self[name] else { return nil }
    switch value {
    case .number(let number): return number
    case .text(let text) where text.utf8.allSatisfy({ "-.0123456789".utf8.contains($0) }):
      if let number = Double(text) { return number }
    default: break
    }
    throw TokenReply.invalid("has a member \(name) that is not a number")
  }
}
