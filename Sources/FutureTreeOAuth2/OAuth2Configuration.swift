import Foundation
import FutureTree
import FutureTreeHTTP

/// How a client proves its secret when it requests a token (RFC 6749, section 2.3.1).
public enum ClientAuthenticationMethod: Sendable, Hashable {
  /// With the header `Authorization`, which every server supports.
  case header
  /// With fields of the body, for servers that support nothing else.
  case body
}

/// A client as the authorization server knows it (RFC 6749, section 2).
public struct OAuth2Client: Sendable, Hashable {
  /// The name of the client. It is not secret.
  public let id: String
  let secret: String?
  let method: ClientAuthenticationMethod

  private init(id: String, secret: String?, method: ClientAuthenticationMethod) {
    self.id = id
    self.secret = secret
    self.method = method
  }

  /// Creates a client that cannot keep a secret, such as an app on a device. PKCE stands in for the secret.
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

/// How a client comes to a credential that it does not have.
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

  /// A person logs in on a page of the authorization server (RFC 6749, section 4.1), with PKCE (RFC 7636, S256).
  ///
  /// ```swift
  /// let endpoint = try HTTPURL("https://id.example.com/authorize")
  /// let grant = OAuth2Grant.authorizationCode(at: endpoint, redirectURI: "com.example.app:/signed-in") { page in
  ///   browser.open(page, until: "com.example.app")  // A future of the URL that the page leads to.
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: the authorization endpoint.
  ///   - redirectURI: where the page leads in the end, as it is registered with the server.
  ///   - parameters: what else the endpoint wants to know, such as `("prompt", "login")`.
  ///   - present: shows the page at a URL, and returns a future of the URL that it leads to. Called outside every lock, from
  ///     any thread. The future is asked to cancel when nobody waits for the log-in any more.
  public static func authorizationCode(
    at endpoint: HTTPURL, redirectURI: String, parameters: [(String, String)] = [],
    present: @escaping @Sendable (URL) throws -> Future<URL>
  ) -> OAuth2Grant {
    OAuth2Grant(
      kind: .authorizationCode(
        AuthorizationCode(endpoint: endpoint, redirectURI: redirectURI, parameters: parameters, present: present)))
  }

  /// The client asks in its own name (RFC 6749, section 4.4). Its tokens are not refreshed: it asks for new ones.
  public static let clientCredentials = OAuth2Grant(kind: .clientCredentials)

  /// The credential comes from the store, or from `OAuth2.replaceCredential(with:)`. Where there is none, loads fail with the
  /// code `authenticationRequired`.
  public static let storedCredential = OAuth2Grant(kind: .storedCredential)
}

/// Where tokens come from.
public struct OAuth2Configuration: Sendable {
  /// Who asks for them.
  public let client: OAuth2Client
  /// Where they are asked for.
  public let tokenEndpoint: HTTPURL
  /// What they are to give access to; empty for what the server gives by itself.
  public let scope: [String]
  /// How the first one is had.
  public let grant: OAuth2Grant
  let parameters: [(String, String)]

  /// - Parameters:
  ///   - client: who asks.
  ///   - tokenEndpoint: where tokens are asked for.
  ///   - scope: what they are to give access to.
  ///   - parameters: what else the token endpoint wants to know, such as `("audience", "https://api.example.com")`.
  ///   - grant: how the first one is had.
  public init(
    client: OAuth2Client, tokenEndpoint: HTTPURL, scope: [String] = [], parameters: [(String, String)] = [],
    grant: OAuth2Grant
  ) {
    self.client = client
    self.tokenEndpoint = tokenEndpoint
    self.scope = scope
    self.parameters = parameters
    self.grant = grant
  }

  /// The scope as a parameter, if there is one.
  var scopeParameter: [(String, String)] { scope.isEmpty ? [] : [("scope", scope.joined(separator: " "))] }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
  /// The name, without the secret.
  public var description: String { "client \(id)" }

  public var customMirror: Mirror { Mirror(self, children: ["id": id], displayStyle: .struct) }
}

extension OAuth2Grant: CustomStringConvertible, CustomReflectable {
  /// The name of the grant, as requests have it.
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
  /// Client, endpoint and grant, without the secret and the values of parameters.
  public var description: String { "\(client) at \(tokenEndpoint) by \(grant)" }

  public var customMirror: Mirror {
    Mirror(self, children: ["configuration": description, "scope": scope], displayStyle: .struct)
  }
}
