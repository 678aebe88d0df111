import Foundation

/// The URL or the path of a request, written as a string literal whose interpolated values are percent-encoded.
///
/// ```swift
/// let posts = api.get("users/\(id)/posts", as: [Post].self)
/// let found = api.get("https://example.com/search?q=\(text)", as: [Page].self)
/// ```
///
/// The literal parts are sent as written. In an interpolated value, every character except letters, digits, `-`, `.`, `_`
/// and `~` is percent-encoded. The value cannot begin another path segment or add a query. Strings, numbers and `UUID`
/// values can be interpolated.
///
/// The following values are refused:
///
/// - a value that makes a path segment empty
/// - a value that makes a segment `.` or `..`, also between slashes inside the value
/// - a value in the scheme, the host or the port
///
/// A literal that begins with `http://` or `https://` is a URL. Any other literal is a path, parsed as `HTTPPath` parses
/// it. An `HTTPURL` at the beginning is inserted without encoding: `"\(base)/users"`. To use an existing `HTTPURL` or
/// `HTTPPath` as an endpoint, call `url(_:)` or `path(_:)`.
///
/// A request for a literal has a `urlTemplate`: for the first example, `users/{}/posts`. If the literal begins with an `HTTPURL`, the
/// request has none.
///
/// Errors are stored until the endpoint is used: `HTTPRequest.init(_:to:query:)` throws them, and loads fail with them.
public struct HTTPEndpoint: Sendable {
  private let result: Result<HTTPRequest.Target, HTTPError>
  fileprivate let template: String?

  private init(_ result: Result<HTTPRequest.Target, HTTPError>, template: String? = nil) {
    self.result = result
    self.template = template
  }

  /// Returns an endpoint with this URL.
  public static func url(_ url: HTTPURL) -> HTTPEndpoint {
    HTTPEndpoint(.success(.url(url)))
  }

  /// Returns an endpoint with this URL. If it is not a valid `HTTPURL`, loads fail with the code `invalidURL`.
  public static func url(_ url: URL) -> HTTPEndpoint {
    HTTPEndpoint(Result { () throws(HTTPError) in .url(try HTTPURL(url)) })
  }

  /// Returns an endpoint with this path. A layer fills in the host.
  public static func path(_ path: HTTPPath) -> HTTPEndpoint {
    HTTPEndpoint(.success(.path(path)))
  }

  /// Returns the target of a request, with the items appended to its query.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  func target(query: NameValuePairs<String?>) throws(HTTPError) -> HTTPRequest.Target {
    switch try result.get() {
    case .url(let url): .url(url.appending(query: query))
    case .path(let path): .path(path.appending(query: query))
    }
  }
}

extension HTTPRequest {
  /// Creates a request for an endpoint.
  ///
  /// ```swift
  /// var request = try HTTPRequest(.delete, to: "users/\(id)")
  /// ```
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded. A name without a value has no `=`.
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(
    _ method: HTTPMethod, to endpoint: HTTPEndpoint, query: NameValuePairs<String?> = []
  ) throws(HTTPError) {
    switch try endpoint.target(query: query) {
    case .url(let url): self.init(method, url)
    case .path(let path): self.init(method, path: path)
    }
    if let template = endpoint.template { urlTemplate = template }
  }
}

extension HTTPEndpoint: ExpressibleByStringInterpolation {
  /// Creates an endpoint from a literal without interpolated values.
  public init(stringLiteral text: String) {
    var interpolation = StringInterpolation(literalCapacity: text.utf8.count, interpolationCount: 0)
    interpolation.appendLiteral(text)
    self.init(stringInterpolation: interpolation)
  }

  /// Creates an endpoint from a literal with interpolated values.
  public init(stringInterpolation: StringInterpolation) {
    self.init(
      Result { () throws(HTTPError) in try stringInterpolation.target() }, template: stringInterpolation.template)
  }

  /// A collector for the parts of a literal that encodes the interpolated values.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    private var text = ""
    /// The path segment at the end of `text`. `nil` from the beginning of the query.
    private var segment: Segment? = Segment()
    private var fault: HTTPError?
    /// The text with a placeholder for each value. `nil` before the first value.
    private var pattern: String?
    /// Whether the text begins with an `HTTPURL`, which can be that of any resource.
    private var beginsWithURL = false
    /// The offset in `text` of the first encoded value.
    private var firstValue: Int?
    /// The characters that may follow the URL at the beginning, until a character follows. `nil` elsewhere.
    private var afterURL: String?

    private struct Segment {
      /// The literal text and the values, without encoding.
      var text = ""
      var hasValue = false

      /// Whether a value in the segment could make a server read another path. Some servers decode slashes before they
      /// resolve dot segments, treat a backslash as a slash, or cut parameters at a semicolon.
      var isUnsafe: Bool {
        guard hasValue else { return false }
        return text.isEmpty
          || text.utf8.split(whereSeparator: { $0 == 0x2F || $0 == 0x5C }).contains { part in
            URLReference.isDots(part.prefix { $0 != 0x3B })
          }
      }
    }

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    /// Appends a part of the literal without encoding.
    public mutating func appendLiteral(_ literal: String) {
      guard !literal.isEmpty else { return }
      pattern? += literal
      var literal = literal[...]
      if let allowed = afterURL.take() {
        if !allowed.utf8.contains(literal.utf8.first ?? 0) { refuse(after: allowed) }
        // The path of a URL begins with a slash, and so does a literal that follows it.
        if text.hasSuffix("/"), literal.utf8.first == 0x2F { literal = literal.dropFirst() }
      }
      text += literal
      for character in literal.utf8 {
        switch character {
        case 0x2F: endSegment(beginning: Segment())  // A slash.
        case 0x23, 0x3F: endSegment(beginning: nil)  // A fragment or a query.
        default: segment?.text.unicodeScalars.append(Unicode.Scalar(character))
        }
      }
    }

    /// Appends a string or a number, percent-encoded so that it stays in its path segment or query item.
    ///
    /// Other types are not accepted: their descriptions may be redacted, or may not be intended for a server.
    public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
      let value = value.description
      if let allowed = afterURL.take() { refuse(after: allowed) }
      firstValue = firstValue ?? text.utf8.count
      pattern = (pattern ?? text) + "{}"
      text += ASCII.percentEncoded(value, keeping: ASCII.isUnreserved)
      segment?.text += value
      segment?.hasValue = true
    }

    /// Appends a UUID.
    public mutating func appendInterpolation(_ value: UUID) {
      appendInterpolation(value.uuidString)
    }

    /// Appends a URL. At the beginning it is inserted without encoding; after other text it is percent-encoded.
    ///
    /// A URL without a query must be followed by `/`, `?` or `#`. A URL with a query must be followed by `&` or `#`.
    public mutating func appendInterpolation(_ url: HTTPURL) {
      guard text.isEmpty else { return appendInterpolation(url.absoluteString) }
      beginsWithURL = true
      appendLiteral(url.absoluteString)
      afterURL = url.query == nil ? "/?#" : "&#"
    }

    private mutating func refuse(after allowed: String) {
      fault =
        fault
        ?? HTTPError(
          .invalidURL,
          "The URL at the beginning of the endpoint is not followed by one of \(allowed), so its last part would change. Begin "
            + "the text after it with one of these characters.")
    }

    private mutating func endSegment(beginning next: Segment?) {
      if let segment, segment.isUnsafe, fault == nil {
        fault = HTTPError(
          .invalidURL,
          "An interpolated value makes a segment of the path empty, or makes it a dot segment. "
            + "The path could name another resource. Validate the value before you build the request.")
      }
      segment = segment == nil ? nil : next
    }

    /// The path of the literal. `nil` after an `HTTPURL`.
    fileprivate var template: String? {
      guard !beginsWithURL else { return nil }
      var path = (pattern ?? text).prefix { $0 != "?" && $0 != "#" }
      guard let scheme = StringInterpolation.scheme(of: text) else { return String(path) }
      path = path.dropFirst(scheme.count).drop { $0 != "/" }
      return path.isEmpty ? "/" : String(path)
    }

    /// The scheme of a URL, with its slashes. `nil` for a path.
    private static func scheme(of text: String) -> String? {
      let start = text.prefix(8).lowercased()
      return ["http://", "https://"].first(where: start.hasPrefix)
    }

    fileprivate func target() throws(HTTPError) -> HTTPRequest.Target {
      var whole = self
      whole.endSegment(beginning: nil)
      if let fault = whole.fault { throw fault }
      guard let scheme = StringInterpolation.scheme(of: text) else { return .path(try HTTPPath(text)) }
      let endOfHost = scheme.utf8.count + text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }.utf8.count
      guard firstValue.map({ $0 >= endOfHost }) ?? true else {
        throw HTTPError(
          .invalidURL,
          "A value is interpolated in the scheme, the host or the port of the URL. It could name another server. Create an "
            + "HTTPURL, and interpolate it at the beginning.")
      }
      return .url(try HTTPURL(text))
    }
  }
}

extension HTTPEndpoint: CustomStringConvertible, CustomReflectable {
  /// The URL or the path without the query, which may contain secrets. For an invalid endpoint, the error.
  public var description: String {
    switch result {
    case .success(let target): target.description
    case .failure(let error): error.description
    }
  }

  /// The URL or the path without the query.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": description], displayStyle: .struct) }
}
