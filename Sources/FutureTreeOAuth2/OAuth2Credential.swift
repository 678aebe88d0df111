import Foundation
import FutureTree
import FutureTreeHTTP

/// What a client has of an authorization server: a token, and what it takes to have the next one.
///
/// It can be encoded, with its secrets, for a store. Nothing prints them.
public struct OAuth2Credential: Sendable, Hashable, Codable {
  /// What requests are sent with.
  public let accessToken: BearerToken
  /// What the next access token is had with, once; nil if there is none.
  public let refreshToken: String?
  /// When the access token ends; nil if the server did not say.
  public let expires: Date?
  /// What the access token gives access to, separated by blanks; nil if that is what was asked for.
  public let scope: String?

  /// A credential that was had elsewhere.
  public init(accessToken: BearerToken, refreshToken: String? = nil, expires: Date? = nil, scope: String? = nil) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.expires = expires
    self.scope = scope
  }
}

extension OAuth2Credential: CustomStringConvertible, CustomReflectable {
  /// What there is, without the tokens.
  public var description: String {
    "OAuth2Credential(\(refreshToken == nil ? "without" : "with") a refresh token"
      + (expires.map { ", expires \($0.formatted(.iso8601))" } ?? "") + ")"
  }

  public var customMirror: Mirror { Mirror(self, children: ["credential": description], displayStyle: .struct) }
}

/// Where an `OAuth2` layer keeps its credential while the program does not run.
///
/// ```swift
/// struct Keychain: CredentialStore {
///   func load() -> Future<OAuth2Credential?> { Future(on: .global()) { try item.read().map(decode) } }
///   func save(_ credential: OAuth2Credential) -> Future<Void> { Future(on: .global()) { try item.write(encode(credential)) } }
///   func delete() -> Future<Void> { Future(on: .global()) { try item.remove() } }
/// }
/// ```
///
/// One layer calls one of them at a time, outside every lock, and the next when the future of the last has ended. Requests to
/// cancel are passed to `load` alone: what is saved or deleted is not left half done.
public protocol CredentialStore: Sendable {
  /// What was saved last, or nil.
  func load() -> Future<OAuth2Credential?>
  /// Keeps a credential in the place of what was there: whole, or not at all.
  func save(_ credential: OAuth2Credential) -> Future<Void>
  /// Forgets what was saved. It succeeds if there is nothing.
  func delete() -> Future<Void>
}

/// A store that ends with the program.
public final class MemoryCredentialStore: CredentialStore {
  private let saved: Locked<OAuth2Credential?>

  /// A store with a credential, or an empty one.
  public init(_ credential: OAuth2Credential? = nil) {
    saved = Locked(credential)
  }

  /// What is in it now.
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
