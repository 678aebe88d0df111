/// The rules for hiding secrets in printed requests: in logs, cURL commands and measurements.
///
/// ```swift
/// request.curl()  // curl --header 'Authorization: REDACTED' 'https://example.com/feed?page=REDACTED'
///
/// var redaction = Redaction.standard
/// redaction.shownQueryItems = ["page"]
/// request.curl(redacting: redaction)  // … 'https://example.com/feed?page=2'
/// ```
///
/// A redaction lists the parts to show. All other parts are treated as secrets, so that an unknown field is never shown.
/// The host, the path, the names of header fields and query items, and sizes are always shown: do not put secrets there.
///
/// The header fields that are known to be secret, and the fields that the request lists in `SensitiveHeaders`, are never
/// shown, even if `shownHeaders` contains them. Only `nothing` shows them.
public struct Redaction: Sendable, Hashable {
  /// The header fields whose values are shown. Names compare case-insensitively.
  public var shownHeaders: HeaderNames
  /// The decoded names of the query items whose values are shown. Names compare case-sensitively.
  public var shownQueryItems: Set<String>
  /// Whether bodies are shown, and the paths of files that are sent.
  public var showsBodies: Bool
  private var showsEverything = false

  /// Creates a redaction that shows the listed parts only.
  public init(
    shownHeaders: HeaderNames = Redaction.plainHeaders, shownQueryItems: Set<String> = [], showsBodies: Bool = false
  ) {
    self.shownHeaders = shownHeaders
    self.shownQueryItems = shownQueryItems
    self.showsBodies = showsBodies
  }

  /// A redaction that shows the values of header fields that never contain secrets, no values of query items, and no
  /// bodies.
  public static let standard = Redaction()

  /// A redaction that shows everything, including secrets. Use it only for output that stays with its author.
  public static let nothing: Redaction = {
    var redaction = Redaction(showsBodies: true)
    redaction.showsEverything = true
    return redaction
  }()

  /// Header fields that describe the request and the accepted responses, and do not identify the user.
  public static let plainHeaders = HeaderNames([
    "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
    "Content-Language", "Content-Type", "Pragma", "Prefer", "Range", "User-Agent", "traceparent",
  ])

  /// The replacement for a hidden value.
  package static let mark = "REDACTED"
}

extension Redaction {
  /// Returns the value of a header field of a request, or the mark.
  package func value(of field: HTTPHeaders.Field, in request: HTTPRequest) -> String {
    if showsEverything { return field.value }
    let isShown = shownHeaders.contains(field.name) && !request.isSensitive(header: field.name)
    return isShown ? field.value : Redaction.mark
  }

  /// Returns the value of a header field of a response, or the mark. Only fields that are known to be secret are hidden.
  /// The query and the fragment of a URL are hidden as in a request.
  package func value(ofResponse field: HTTPHeaders.Field, to request: HTTPRequest) -> String {
    guard !showsEverything else { return field.value }
    if request.isSensitive(header: field.name) { return Redaction.mark }
    return ["location", "content-location"].contains(field.name.lowercased()) ? reference(field.value) : field.value
  }

  private func reference(_ text: String) -> String {
    // Works on bytes: `?` and a combining mark are one character.
    let withoutFragment = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    let path = withoutFragment.prefix { $0 != UInt8(ascii: "?") }
    let query = String(Substring(withoutFragment.dropFirst(path.count + 1)))
    return String(Substring(path)) + (query.isEmpty ? "" : "?" + self.query(query))
      + (withoutFragment.endIndex < text.endIndex ? "#" + Redaction.mark : "")
  }

  /// Returns the URL of a request, or its path if it has no URL, with the query values that are shown.
  package func target(of request: HTTPRequest) -> String {
    var target = ""
    write(targetOf: request, to: &target)
    return target
  }

  /// Appends `target(of:)` to a string.
  func write(targetOf request: HTTPRequest, to text: inout String) {
    request.url?.write(originTo: &text)
    text += request.path
    if let query = request.query {
      text += "?"
      text += self.query(query)
    }
  }

  /// Redacts a query. An item without `=` is hidden entirely, because it can be a value as well as a name.
  private func query(_ query: String) -> String {
    if showsEverything { return query }
    return query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
      let name = Substring(item.prefix { $0 != UInt8(ascii: "=") })
      if item.isEmpty || shownQueryItems.contains(Redaction.decoded(name)) { return String(Substring(item)) }
      return name.endIndex == item.endIndex ? Redaction.mark : name + "=" + Redaction.mark
    }.joined(separator: "&")
  }

  private static func decoded(_ name: Substring) -> String {
    let spaced = String(decoding: name.utf8.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self)
    return String(decoding: ASCII.percentDecoded(spaced), as: UTF8.self)
  }
}
