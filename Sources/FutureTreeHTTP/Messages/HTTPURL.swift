/// The URL of a request, in its parts (RFC 3986), of the scheme `http` or `https`.
///
/// ```swift
/// let url = try HTTPURL("https://example.com:8443/feed?page=2")
/// url.host  // "example.com"
/// ```
///
/// It is parsed strictly and sent as it was written, without dot segments (RFC 3986, section 5.2.4). What parsers read differently (user information, backslashes, percent
/// signs and control bytes in a host, numbers that are not four decimal bytes, encoded dot segments) is refused, because a
/// check and the connection that follows it must mean the same.
public struct HTTPURL: Sendable, Hashable {
  /// How the connection is made.
  public enum Scheme: String, Sendable {
    /// In plain text.
    case http
    /// Over TLS.
    case https

    /// The port of a URL that names none.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  /// How the connection is made.
  public let scheme: Scheme
  /// A name in lower case, four decimal bytes, or an IPv6 address in brackets.
  public let host: String
  /// The port that the URL names, or nil.
  public let explicitPort: UInt16?
  /// The path, percent-encoded as it was written, without dot segments; `/` if the URL has none.
  public let path: String
  /// What stands between `?` and `#`, percent-encoded, or nil.
  public let query: String?

  init(scheme: Scheme, host: String, explicitPort: UInt16?, path: String, query: String?) {
    self.scheme = scheme
    self.host = host
    self.explicitPort = explicitPort
    self.path = path
    self.query = query
  }

  /// The port of the connection.
  public var port: UInt16 { explicitPort ?? scheme.defaultPort }

  /// Scheme, host and port: what credentials never cross.
  public var origin: String {
    var origin = ""
    write(originTo: &origin)
    return origin
  }

  /// Appends `origin` to a text.
  func write(originTo text: inout String) {
    text += scheme.rawValue
    text += "://"
    text += host
    if let explicitPort {
      text += ":"
      text += String(explicitPort)
    }
  }

  /// Whether scheme, host and port are the same; a port that is named and is the scheme's own is the same as none.
  public func hasSameOrigin(as other: HTTPURL) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  /// The whole URL as it is sent, without a fragment.
  public var absoluteString: String {
    origin + path + (query.map { "?" + $0 } ?? "")
  }
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
  /// The URL without the query, which may hold secrets.
  public var description: String { origin + path + (query == nil ? "" : "?…") }

  public var customMirror: Mirror { Mirror(self, children: ["url": description], displayStyle: .struct) }
}
