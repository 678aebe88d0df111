import Foundation
import FutureTree
import FutureTreeHTTP

/// A credential from an authorization server: an access token, and the data that is needed to get the next one.
///
/// It can be encoded for a store, including its secrets. Its description contains no secrets.
public struct OAuth2Credential: Sendable, Hashable, Codable {
  /// The access token, which is sent with requests.
  public let accessToken: BearerToken
  /// The refresh token, which can be used once to request the next access token. `nil` if there is none.
  public let refreshToken: String?
  /// The expiry date of the access token. `nil` if the server did not report one.
  public let expires: Date?
  /// The scope of the access token, separated by spaces. `nil` if it is the requested scope.
  public let scope: String?

  /// Creates a credential from another source.
  public init(accessToken: BearerToken, refreshToken: String? = nil, expires: Date? = nil, scope: String? = nil) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.expires = expires
    self.scope = scope
  }
}

extension OAuth2Credential: CustomStringConvertible, CustomReflectable {
  /// A summary without the tokens.
  public var description: String {
    "OAuth2Credential(\(refreshToken == nil ? "without" : "with") a refresh token"
      + (expires.map { ", expires \($0.formatted(.iso8601))" } ?? "") + ")"
  }

  public var customMirror: Mirror { Mirror(self, children: ["credential": description], displayStyle: .struct) }
}

/// A store for the credential of an `OAuth2` layer between runs of the program.
///
/// ```swift
/// struct Keychain: CredentialStore {
///   func load() -> Future<OAuth2Credential?> { Future(on: .global()) { try item.read().map(decode) } }
///   func save(_ credential: OAuth2Credential) -> Future<Void> { Future(on: .global()) { try item.write(encode(credential)) } }
///   func delete() -> Future<Void> { Future(on: .global()) { try item.remove() } }
/// }
/// ```
///
/// A layer calls one method at a time, outside every lock. It calls the next method when the future of the previous one
/// has ended. Cancellation requests are forwarded only to `load()`, so that saving and deleting are not interrupted.
public protocol CredentialStore: Sendable {
  /// Returns the credential that was saved last, or `nil`.
  func load() -> Future<OAuth2Credential?>
  /// Saves a credential in place of the previous one, atomically.
  func save(_ credential: OAuth2Credential) -> Future<Void>
  /// Deletes the saved credential. Succeeds if there is none.
  func delete() -> Future<Void>
}

/// A credential store in memory, whose content is lost when the program ends.
public final class MemoryCredentialStore: CredentialStore {
  private let saved: Locked<OAuth2Credential?>

  /// Creates a store with a credential, or an empty store.
  public init(_ credential: OAuth2Credential? = nil) {
    saved = Locked(credential)
  }

  /// The current credential.
  public var credential: OAuth2Credential? { saved.value }

  public func load() -> Future<OAuth2Credential?> { .succeeded(saved.value) }

  public func save(_ credential: OAuth2Credential) -> Future<Void> {
    saved.value = credential
    return .succeeded(())
  }

  public func delete() -> Future<Void> {
    saved.value = nil
    return .succeeded(())
  }
}
