/// What is left out of what is printed about requests: logs, cURL commands, measurements.
///
/// ```swift
/// request.curl()  // curl --header 'Authorization: REDACTED' 'https://example.com/feed?page=REDACTED'
///
/// var redaction = Redaction.standard
/// redaction.shownQueryItems = ["page"]
/// request.curl(redacting: redaction)  // … 'https://example.com/feed?page=2'
/// ```
///
/// It names what is shown, and everything else is a secret, so that a field that nobody thought of does not get out. Host,
/// path, the names of header fields and of query items, and sizes are always shown: do not put secrets there.
///
/// Header fields that are known to be secret, and those that the request names as `SensitiveHeaders`, are never shown, not
/// even if `shownHeaders` has them; only `nothing` shows them.
public struct Redaction: Sendable, Hashable {
  /// The header fields whose values are shown, in any case of letters.
  public var shownHeaders: HeaderNames
  /// The names of the query items whose values are shown, as they are when decoded. They compare with case.
  public var shownQueryItems: Set<String>
  /// Whether bodies are shown, and the paths of files that are sent.
  public var showsBodies: Bool
  private var showsEverything = false

  /// Shows what is named here, and no more.
  public init(
    shownHeaders: HeaderNames = Redaction.plainHeaders, shownQueryItems: Set<String> = [], showsBodies: Bool = false
  ) {
    self.shownHeaders = shownHeaders
    self.shownQueryItems = shownQueryItems
    self.showsBodies = showsBodies
  }

  /// Shows the values of header fields that never hold secrets, of no query item, and no body.
  public static let standard = Redaction()

  /// Shows everything, secrets too: for what only its author gets to see.
  public static let nothing: Redaction = {
    var redaction = Redaction(showsBodies: true)
    redaction.showsEverything = true
    return redaction
  }()

  /// Header fields that say what is sent and what is wanted, and nothing about who asks.
  public static let plainHeaders = HeaderNames([
    "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
    "Content-Language", "Content-Type", "Pragma", "Prefer", "Range", "User-Agent", "traceparent",
  ])

  /// What stands in the place of a value.
  static let mark = "REDACTED"
}

extension Redaction {
  /// The value of a header field of a request, or the mark.
  func value(of field: HTTPHeaders.Field, in request: HTTPRequest) -> String {
    if showsEverything { return field.value }
    let isShown = shownHeaders.contains(field.name) && !request.isSensitive(header: field.name)
    return isShown ? field.value : Redaction.mark
  }

  /// The URL of a request, or its path if it has no more, with the values of its query that are shown.
  func target(of request: HTTPRequest) -> String {
    var target = ""
    write(targetOf: request, to: &target)
    return target
  }

  /// Appends `target(of:)` to a text.
  func write(targetOf request: HTTPRequest, to text: inout String) {
    request.url?.write(originTo: &text)
    text += request.path
    if let query = request.query {
      text += "?"
      text += self.query(query)
    }
  }

  /// An item without `=` may be a value as well as a name.
  private func query(_ query: String) -> String {
    if showsEverything { return query }
    return query.split(separator: "&", omittingEmptySubsequences: false).map { item in
      let name = item.prefix { $0 != "=" }
      if item.isEmpty || shownQueryItems.contains(Redaction.decoded(name)) { return String(item) }
      return name.endIndex == item.endIndex ? Redaction.mark : name + "=" + Redaction.mark
    }.joined(separator: "&")
  }

  private static func decoded(_ name: Substring) -> String {
    let spaced = String(decoding: name.utf8.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self)
    return String(decoding: ASCII.percentDecoded(spaced), as: UTF8.self)
  }
}
