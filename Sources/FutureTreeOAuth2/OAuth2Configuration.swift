import Foundation
import FutureTree
import FutureTreeHTTP

/// The method by which a client proves in a token request that it knows its secret (RFC 6749, section 2.3.1).
public enum ClientAuthenticationMethod: Sendable, Hashable {
  /// The header `Authorization`, which every server supports.
  case header
  /// Fields of the body, for servers that support nothing else.
  case body
}

/// A client that is registered with the authorization server (RFC 6749, section 2).
public struct OAuth2Client: Sendable, Hashable {
  /// The identifier of the client. It is not secret.
  public let id: String
  let secret: String?
  let method: ClientAuthenticationMethod

  private init(id: String, secret: String?, method: ClientAuthenticationMethod) {
    self.id = id
    self.secret = secret
    self.method = method
  }

  /// Creates a client that cannot keep a secret, such as an app on a device. PKCE replaces the secret.
  public static func `public`(id: String) -> OAuth2Client {
    OAuth2Client(id: id, secret: nil, method: .body)
  }

  /// Creates a client with a secret, such as a server.
  public static func confidential(
    id: String, secret: String, method: ClientAuthenticationMethod = .header
  ) -> OAuth2Client {
    OAuth2Client(id: id, secret: secret, method: method)
  }
}

/// The way in which a client gets a new credential.
public struct OAuth2Grant: Sendable {
  struct AuthorizationCode: Sendable {
    let endpoint: HTTPURL
    let redirectURI: String
    let parameters: [(String, String)]
    let present: @Sendable (URL) throws -> Future<URL>
  }

  enum Kind: Sendable {
    case authorizationCode(AuthorizationCode)
    case clientCredentials
    case storedCredential
  }

  let kind: Kind

  /// Returns a grant by which a user logs in on a page of the authorization server (RFC 6749, section 4.1), with PKCE
  /// (RFC 7636, S256).
  ///
  /// ```swift
  /// let endpoint = try HTTPURL("https://id.example.com/authorize")
  /// let grant = OAuth2Grant.authorizationCode(at: endpoint, redirectURI: "com.example.app:/signed-in") { page in
  ///   browser.open(page, until: "com.example.app")  // A future of the URL that the page leads to.
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: The authorization endpoint.
  ///   - redirectURI: The URI to which the page redirects at the end, as registered with the server.
  ///   - parameters: Further parameters for the endpoint, such as `("prompt", "login")`.
  ///   - present: A closure that shows the page at a URL, and returns a future of the URL to which the page redirects at
  ///     the end. It is called outside every lock, from any thread. The future is asked to cancel when no load waits for
  ///     the login.
  public static func authorizationCode(
    at endpoint: HTTPURL, redirectURI: String, parameters: [(String, String)] = [],
    present: @escaping @Sendable (URL) throws -> Future<URL>
  ) -> OAuth2Grant {
    OAuth2Grant(
      kind: .authorizationCode(
        AuthorizationCode(endpoint: endpoint, redirectURI: redirectURI, parameters: parameters, present: present)))
  }

  /// The client requests tokens in its own name (RFC 6749, section 4.4). Tokens are not refreshed: the client requests
  /// new ones.
  public static let clientCredentials = OAuth2Grant(kind: .clientCredentials)

  /// The credential comes from the store, or from `OAuth2.replaceCredential(with:)`. If there is none, loads fail with
  /// the code `authenticationRequired`.
  public static let storedCredential = OAuth2Grant(kind: .storedCredential)
}

/// The configuration of an `OAuth2` layer.
public struct OAuth2Configuration: Sendable {
  /// The client that requests tokens.
  public let client: OAuth2Client
  /// The token endpoint.
  public let tokenEndpoint: HTTPURL
  /// The requested scopes. If the array is empty, the server's default applies.
  public let scope: [String]
  /// The grant that gets the first credential.
  public let grant: OAuth2Grant
  let parameters: [(String, String)]
  let adaptReply: ReplyAdapter?

  /// A closure that changes a response of the token endpoint before it is read.
  public typealias ReplyAdapter = @Sendable (_ response: HTTPResponse) throws -> HTTPResponse

  /// Creates a configuration.
  ///
  /// A reply without `token_type`, with a lifetime as text, with a scope as an array, with empty or null members, or with a byte
  /// order mark is read. So is a form, if the server says that it sent one. For other replies, use `adaptReply`:
  ///
  /// ```swift
  /// // The service replies with {"token": "…", "ttl": 3600}.
  /// struct Reply: Decodable { let token: String, ttl: Int }
  /// let configuration = OAuth2Configuration(
  ///   client: .confidential(id: "app", secret: secret), tokenEndpoint: endpoint, grant: .clientCredentials,
  ///   adaptReply: { response in
  ///     guard response.status.isSuccess else { return response }
  ///     let reply = try JSONDecoder().decode(Reply.self, from: response.body)
  ///     let fields = ["access_token": reply.token, "expires_in": "\(reply.ttl)"]
  ///     return HTTPResponse(to: response.request, status: .ok, body: try JSONEncoder().encode(fields))
  ///   })
  /// ```
  ///
  /// - Parameters:
  ///   - client: The client that requests tokens.
  ///   - tokenEndpoint: The token endpoint.
  ///   - scope: The requested scopes. Defaults to the scopes that the server selects.
  ///   - parameters: Further parameters for the token endpoint, such as `("audience", "https://api.example.com")`.
  ///   - grant: The grant that gets the first credential.
  ///   - adaptReply: A closure that changes each response of the token endpoint before it is read: its body, its status, or the
  ///     name of its error. It is called outside every lock, from any thread. If it throws an error, the request for a token
  ///     fails with the code `invalidTokenResponse`. The library prints neither that error nor the response, because both may
  ///     contain secrets. Defaults to `nil`.
  public init(
    client: OAuth2Client, tokenEndpoint: HTTPURL, scope: [String] = [], parameters: [(String, String)] = [],
    grant: OAuth2Grant, adaptReply: ReplyAdapter? = nil
  ) {
    self.client = client
    self.tokenEndpoint = tokenEndpoint
    self.scope = scope
    self.parameters = parameters
    self.grant = grant
    self.adaptReply = adaptReply
  }

  /// The scope as a request parameter, if there is a scope.
  var scopeParameter: [(String, String)] { scope.isEmpty ? [] : [("scope", scope.joined(separator: " "))] }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
  /// The identifier of the client, without the secret.
  public var description: String { "client \(id)" }

  public var customMirror: Mirror { Mirror(self, children: ["id": id], displayStyle: .struct) }
}

extension OAuth2Grant: CustomStringConvertible, CustomReflectable {
  /// The name of the grant in requests.
  public var description: String {
    switch kind {
    case .authorizationCode: "authorization_code"
    case .clientCredentials: "client_credentials"
    case .storedCredential: "stored credential"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["grant": description], displayStyle: .struct) }
}

extension OAuth2Configuration: CustomStringConvertible, CustomReflectable {
  /// The client, the endpoint and the grant, without the secret and the values of parameters.
  public var description: String { "\(client) at \(tokenEndpoint) by \(grant)" }

  public var customMirror: Mirror {
    Mirror(self, children: ["configuration": description, "scope": scope], displayStyle: .struct)
  }
}
