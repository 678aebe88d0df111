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
/// four decimal bytes, and encoded dot segments. For text that a server sent, use `resolving(received:)`.
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
  /// The whole URL as it is sent, without a fragment.
  public let absoluteString: String

  init(scheme: Scheme, host: String, explicitPort: UInt16?, path: String, query: String?) {
    self.scheme = scheme
    self.host = host
    self.explicitPort = explicitPort
    self.path = path
    self.query = query
    var text = ""
    HTTPURL.write(scheme, host, explicitPort, to: &text)
    text += path
    if let query {
      text += "?"
      text += query
    }
    absoluteString = text
  }

  public static func == (first: HTTPURL, second: HTTPURL) -> Bool { first.absoluteString == second.absoluteString }

  public func hash(into hasher: inout Hasher) { hasher.combine(absoluteString) }

  /// The port of the connection.
  public var port: UInt16 { explicitPort ?? scheme.defaultPort }

  /// The scheme, the host and the port. Credentials never cross an origin.
  public var origin: String {
    var text = ""
    write(originTo: &text)
    return text
  }

  /// Appends `origin` to a string, without a string of its own.
  func write(originTo text: inout String) { HTTPURL.write(scheme, host, explicitPort, to: &text) }

  private static func write(_ scheme: Scheme, _ host: String, _ explicitPort: UInt16?, to text: inout String) {
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
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
  /// The URL without the query, which may contain secrets.
  public var description: String { query == nil ? absoluteString : origin + path + "?…" }

  public var customMirror: Mirror { Mirror(self, children: ["url": description], displayStyle: .struct) }
}
