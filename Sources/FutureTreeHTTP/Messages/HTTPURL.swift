/// A URL with the scheme `http` or `https`, split into its parts (RFC 3986).
///
/// ```swift
/// let url = try HTTPURL("https://example.com:8443/feed?page=2")
/// url.host  // "example.com"
/// ```
///
/// URLs are parsed strictly and sent as written, except that dot segments are resolved (RFC 3986, section 5.2.4). Parts
/// that parsers interpret differently are refused, because a check of the URL and the connection must refer to the same
/// host. These are user information, backslashes, percent signs and control bytes in a host, numeric hosts that are not
/// four decimal bytes, and encoded dot segments.
public struct HTTPURL: Sendable, Hashable {
  /// The scheme of a URL.
  public enum Scheme: String, Sendable {
    /// HTTP without encryption.
    case http
    /// HTTP over TLS.
    case https

    /// The port of URLs that name no port.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  /// The scheme.
  public let scheme: Scheme
  /// The host: a name in lower case, an IPv4 address, or an IPv6 address in brackets.
  public let host: String
  /// The port in the URL, or `nil` if it has none.
  public let explicitPort: UInt16?
  /// The path, percent-encoded as written, without dot segments. `/` if the URL has no path.
  public let path: String
  /// The text between `?` and `#`, percent-encoded, or `nil`.
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

  /// The scheme, the host and the port. Credentials never cross an origin.
  public var origin: String { text() }

  /// Appends `origin` to a string.
  func write(originTo text: inout String) {
    text += scheme.rawValue
    text += "://"
    text += host
    if let explicitPort {
      text += ":"
      text += String(explicitPort)
    }
  }

  /// Returns whether the scheme, the host and the port are equal. An explicit default port equals no port.
  public func hasSameOrigin(as other: HTTPURL) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  /// The whole URL as it is sent, without a fragment.
  public var absoluteString: String {
    query.map { text(path, "?", $0) } ?? text(path)
  }

  /// Returns the origin followed by the parts, in one allocation.
  private func text(_ parts: String...) -> String {
    var text = ""
    text.reserveCapacity(parts.reduce(host.utf8.count + 16) { $0 + $1.utf8.count })
    write(originTo: &text)
    for part in parts { text += part }
    return text
  }
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
  /// The URL without the query, which may contain secrets.
  public var description: String { text(path, query == nil ? "" : "?…") }

  public var customMirror: Mirror { Mirror(self, children: ["url": description], displayStyle: .struct) }
}
