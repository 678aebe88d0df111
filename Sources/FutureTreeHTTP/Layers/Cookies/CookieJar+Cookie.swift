import Foundation

extension CookieJar {
  /// A stored cookie.
  public struct Cookie: Sendable, Hashable, Codable {
    /// The name. It can be empty.
    public let name: String
    /// The value. It is a secret, and no description contains it.
    public let value: String
    /// The host that receives the cookie, or the domain whose hosts receive it.
    public let domain: String
    /// Whether only the host itself receives the cookie. If `false`, its subdomains also receive it.
    public let isHostOnly: Bool
    /// The path whose requests receive the cookie, with all paths below it.
    public let path: String
    /// The date after which the cookie is deleted. `nil` if it lasts as long as the jar is in memory.
    public let expires: Date?
    /// Whether the cookie is sent only over encrypted connections and to this machine.
    public let isSecure: Bool
    /// Whether scripts of a browser must not read the cookie. It has no effect on a client without scripts.
    public let isHTTPOnly: Bool
    /// The requests with which a browser would send the cookie. A client without pages makes no cross-site requests, so this has
    /// no effect on requests.
    public let sameSite: SameSite
    /// The position of the cookie in the order of their creation.
    let creation: Int
    /// The position of the last request that received the cookie, in the same order.
    var lastUse: Int

    /// A cookie replaces a stored cookie with the same key. Names are compared by their bytes.
    struct Key: Hashable {
      let name: [UInt8]
      let domain: String
      let isHostOnly: Bool
      let path: String
    }

    var key: Key { Key(name: Array(name.utf8), domain: domain, isHostOnly: isHostOnly, path: path) }
  }

  /// The attribute `SameSite` of a cookie.
  public enum SameSite: String, Sendable, Codable {
    /// The attribute is missing or unknown.
    case unspecified = ""
    /// Requests from every site.
    case none
    /// Requests from the same site, and navigations from other sites.
    case lax
    /// Requests from the same site.
    case strict
  }
}

extension CookieJar.Cookie: CustomStringConvertible, CustomReflectable {
  /// The name, the domain and the path, without the value.
  public var description: String { "\(name)=… for \(domain)\(path)" }

  public var customMirror: Mirror { Mirror(self, children: ["cookie": description], displayStyle: .struct) }
}
