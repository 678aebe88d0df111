import Foundation

extension HTTPRequest {
  /// Creates the request that a `curl` command sends.
  ///
  /// ```swift
  /// let request = try HTTPRequest(curl: "curl 'https://example.com/feed' -H 'Accept: application/json' --compressed")
  /// ```
  ///
  /// The command can come from `curl(redacting: .nothing)`, from a browser (*Copy as cURL*, for POSIX shells), or from the
  /// documentation of a server. No shell runs: a part that a shell would replace, such as `$TOKEN`, is an error.
  ///
  /// | options | become |
  /// | --- | --- |
  /// | `-X`, `-I`, `-G` | the method, and a query of the data |
  /// | `-H`, `-A`, `-e`, `-b`, `-u`, `--oauth2-bearer` | header fields |
  /// | `-d`, `--data-raw`, `--data-binary`, `--data-urlencode`, `--json` | the body; `@` names a file, with `--data-binary` |
  /// | `-F`, `--form-string` | a multipart body; `@` names a file |
  /// | `-m` | `timeout` |
  /// | `-L`, `--compressed`, `--http2`, `--connect-timeout` | nothing: layers and transports have settings for that |
  /// | those for output, such as `-s`, `-v`, `-o`, `-f` | nothing |
  ///
  /// Fields that the transport sets, such as `Connection` and a `Host` that is that of the URL, are left out. With `--compressed`,
  /// so is `Accept-Encoding`. Any other option is an error, for example `-k` and `-x`: they belong to the transport.
  ///
  /// - Throws: `HTTPError` with the code `invalidCommand`, which names the option, never a value, or the error of the part that is
  ///   invalid, such as `invalidURL`.
  /// - Complexity: O(size of the command).
  public init(curl command: String) throws(HTTPError) {
    var commands: [[[UInt8]]]
    do { commands = try ShellWords(command).commands } catch { throw CurlCommand.refused(error.text) }
    var input: Data?
    if commands.count == 2, commands[0].first.map({ $0.elementsEqual("printf".utf8) }) == true {
      input = try CurlCommand.printed(by: commands.removeFirst())
    }
    guard commands.count == 1 else {
      throw CurlCommand.refused("is a pipe. Pass the bytes with --data-raw, or as a file with --data-binary.")
    }
    guard let name = commands[0].first, name.elementsEqual("curl".utf8) else {
      throw CurlCommand.refused("does not begin with the word curl. Paste the whole command.")
    }
    var parsed = CurlCommand(input: input)
    try parsed.read(commands[0].dropFirst())
    self = try parsed.request()
  }
}

/// The options of a `curl` command (the manual of curl 8).
private struct CurlCommand {
  private enum Body {
    case none
    case data(Data)
    case file(URL)
    case form([HTTPBody.Part])
  }

  /// The bytes of the standard input.
  let input: Data?
  private var method: HTTPMethod?
  private var url: String?
  private var fields: [(name: String, value: String)] = []
  private var body = Body.none
  private var contentType = "application/x-www-form-urlencoded"
  private var isQuery = false
  private var isHead = false
  private var isCompressed = false
  private var keepsBrackets = false
  private var timeout: Duration?

  init(input: Data?) { self.input = input }

  static func refused(_ fault: String) -> HTTPError { HTTPError(.invalidCommand, "The curl command \(fault)") }

  /// Returns the bytes that the `printf` of `curl(redacting:)` writes.
  static func printed(by words: [[UInt8]]) throws(HTTPError) -> Data {
    guard words.count == 2, words[1].first != UInt8(ascii: "-") else { throw unknownFormat }
    var (bytes, rest) = (Data(), words[1][...])
    while let byte = rest.popFirst() {
      guard byte != UInt8(ascii: "%") else { throw unknownFormat }
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(3)
      guard digits.count == 3, let octal = UInt8(String(decoding: digits, as: UTF8.self), radix: 8) else {
        throw unknownFormat
      }
      bytes.append(octal)
      rest = rest.dropFirst(3)
    }
    return bytes
  }

  private static var unknownFormat: HTTPError {
    refused("has a printf with more than octal escapes. Pass the bytes as a file with --data-binary.")
  }
}

// MARK: - Reading options

extension CurlCommand {
  private static let longNames: [Character: String] = [
    "X": "request", "H": "header", "d": "data", "I": "head", "G": "get", "A": "user-agent", "e": "referer",
    "b": "cookie", "u": "user", "F": "form", "m": "max-time", "g": "globoff", "L": "location", "s": "silent",
    "S": "show-error", "v": "verbose", "i": "include", "f": "fail", "N": "no-buffer", "#": "progress-bar",
    "o": "output", "O": "remote-name", "w": "write-out", "D": "dump-header",
  ]
  /// Options without a value that say nothing about the request.
  private static let skipped: Set = [
    "location", "silent", "show-error", "verbose", "include", "show-headers", "fail", "fail-with-body", "no-buffer",
    "progress-bar", "no-progress-meter", "remote-name", "http1.1", "http2", "http2-prior-knowledge", "http3", "tlsv1.2",
    "tlsv1.3",
  ]
  /// The same with a value.
  private static let skippedWithValue: Set = ["output", "write-out", "dump-header", "max-redirs", "connect-timeout"]

  mutating func read(_ words: ArraySlice<[UInt8]>) throws(HTTPError) {
    var (words, hasOptions) = (words, true)
    while let word = words.popFirst() {
      let text = String(decoding: word, as: UTF8.self)
      if hasOptions, word.elementsEqual("--".utf8) {
        hasOptions = false
      } else if hasOptions, word.starts(with: "--".utf8) {
        try read(String(decoding: word.dropFirst(2), as: UTF8.self), shown: text, attached: nil, &words)
      } else if hasOptions, word.first == UInt8(ascii: "-"), word.count > 1 {
        try readShort(word.dropFirst(), &words)
      } else {
        try setURL(text)
      }
    }
  }

  /// Reads a word such as `-sS` or `-XPOST`: letters, of which the last one can have its value in the word.
  private mutating func readShort(_ letters: ArraySlice<UInt8>, _ words: inout ArraySlice<[UInt8]>) throws(HTTPError) {
    var letters = letters
    while let letter = letters.popFirst() {
      let shown = Character(UnicodeScalar(letter))
      guard let name = CurlCommand.longNames[shown] else { throw CurlCommand.unknown("-\(shown)") }
      if try read(name, shown: "-\(shown)", attached: letters.isEmpty ? nil : Array(letters), &words) { return }
    }
  }

  /// - Returns: Whether the option has a value.
  @discardableResult
  private mutating func read(
    _ name: String, shown: String, attached: [UInt8]?, _ words: inout ArraySlice<[UInt8]>
  ) throws(HTTPError) -> Bool {
    switch name {
    case "head": isHead = true
    case "get": isQuery = true
    case "globoff": keepsBrackets = true
    case "compressed": isCompressed = true
    case _ where CurlCommand.skipped.contains(name): break
    default:
      guard CurlCommand.valued.contains(name) || CurlCommand.skippedWithValue.contains(name) else {
        throw CurlCommand.unknown(shown)
      }
      guard let value = attached ?? words.popFirst() else {
        throw CurlCommand.refused("ends after the option \(shown). Paste the whole command.")
      }
      try set(name, shown, value)
      return true
    }
    return false
  }

  private static func unknown(_ option: String) -> HTTPError {
    // An unknown word can be anything, also a secret without quotes.
    let name = option.utf8.allSatisfy { ASCII.isLetter($0) || $0 == 0x2D } ? String(option.prefix(30)) : "-…"
    return refused(
      "has the option \(name), which a request cannot carry. Remove it, and set up the transport or the layers.")
  }

  private static let valued: Set = [
    "url", "request", "header", "user-agent", "referer", "cookie", "user", "oauth2-bearer", "max-time", "data",
    "data-ascii", "data-raw", "data-binary", "data-urlencode", "json", "form", "form-string",
  ]

  private mutating func set(_ name: String, _ shown: String, _ bytes: [UInt8]) throws(HTTPError) {
    let value = String(decoding: bytes, as: UTF8.self)
    switch name {
    case "url": try setURL(value)
    case "request": method = try HTTPMethod(value)
    case "header": try addField(value)
    case "user-agent": fields.append(("User-Agent", value))
    case "referer": fields.append(("Referer", value))
    case "cookie":
      guard value.contains("=") else { throw CurlCommand.file(shown, "Write the cookies.") }
      if let others = fields.firstIndex(where: { $0.name == "Cookie" }) {
        fields[others].value += "; " + value
      } else {
        fields.append(("Cookie", value))
      }
    case "user":
      guard value.utf8.contains(UInt8(ascii: ":")) else {
        throw CurlCommand.refused("has a user without a password. Write user:password after \(shown).")
      }
      fields.append(("Authorization", "Basic " + Data(bytes).base64EncodedString()))
    case "oauth2-bearer": fields.append(("Authorization", "Bearer " + value))
    case "max-time":
      guard let seconds = FieldSyntax.seconds(value), seconds > 0, seconds < 1_000_000_000 else {
        throw CurlCommand.refused("has no number of seconds after \(shown). Write one, such as 2.5.")
      }
      timeout = .seconds(seconds)
    case "data", "data-ascii":
      guard bytes.first != UInt8(ascii: "@") else {
        throw CurlCommand.file(shown, "Use --data-binary, which keeps its line breaks.")
      }
      try append(bytes, separator: "&")
    case "data-raw": try append(bytes, separator: "&")
    case "data-binary": try appendBinary(bytes)
    case "data-urlencode": try append(Array(try CurlCommand.urlEncoded(value, shown).utf8), separator: "&")
    case "json":
      guard bytes.first != UInt8(ascii: "@") else { throw CurlCommand.file(shown, "Use --data-binary and -H.") }
      contentType = "application/json"
      if !hasField("Accept") { fields.append(("Accept", contentType)) }
      try append(bytes, separator: "")
    case "form": try appendPart(value, isPlain: false, shown)
    case "form-string": try appendPart(value, isPlain: true, shown)
    default: break  // An option that says nothing about the request.
    }
  }

  private static func file(_ option: String, _ advice: String) -> HTTPError {
    refused("has a file after \(option). \(advice)")
  }

  private mutating func setURL(_ text: String) throws(HTTPError) {
    guard url == nil else {
      throw CurlCommand.refused("has two URLs. Put each value in single quotes, or make two requests.")
    }
    url = text
  }

  private mutating func addField(_ text: String) throws(HTTPError) {
    guard text.utf8.first != UInt8(ascii: "@") else { throw CurlCommand.file("-H", "Write the fields.") }
    let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
    guard let end = colon ?? text.utf8.firstIndex(of: UInt8(ascii: ";")) else {
      throw CurlCommand.refused("has a header field without a colon. Write Name: value.")
    }
    let value = FieldSyntax.trimmed(String(text[text.utf8.index(after: end)...]))
    // `Name;` is a field without a value. `Name:` removes a field that curl would add, and a request has none of them.
    if colon == nil || !value.isEmpty { fields.append((String(text[..<end]), value)) }
  }

  private func hasField(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name.lowercased() } }
}

// MARK: - The body

extension CurlCommand {
  private mutating func append(_ bytes: [UInt8], separator: String) throws(HTTPError) {
    switch body {
    case .none: body = .data(Data(bytes))
    case .data(var data):
      body = .none  // So that the bytes are not copied.
      data.append(contentsOf: separator.utf8)
      data.append(contentsOf: bytes)
      body = .data(data)
    case .file, .form: throw CurlCommand.twoBodies
    }
  }

  private mutating func appendBinary(_ bytes: [UInt8]) throws(HTTPError) {
    guard bytes.first == UInt8(ascii: "@") else { return try append(bytes, separator: "&") }
    let path = String(decoding: bytes.dropFirst(), as: UTF8.self)
    if path == "-" {
      guard let input else {
        throw CurlCommand.refused("reads its standard input. Pass the bytes with --data-raw, or name a file.")
      }
      return try append(Array(input), separator: "&")
    }
    guard case .none = body else { throw CurlCommand.twoBodies }
    body = .file(URL(fileURLWithPath: path))
  }

  private mutating func appendPart(_ text: String, isPlain: Bool, _ shown: String) throws(HTTPError) {
    guard let equals = text.utf8.firstIndex(of: 0x3D) else {
      throw CurlCommand.refused("has a part of a form without a name. Write name=value after \(shown).")
    }
    var parts: [HTTPBody.Part] = []
    switch body {
    case .none: break
    case .form(let others): parts = others
    case .data, .file: throw CurlCommand.twoBodies
    }
    let (name, value) = (String(text[..<equals]), String(text[text.utf8.index(after: equals)...]))
    switch value.utf8.first {
    case UInt8(ascii: "@") where !isPlain: parts.append(try CurlCommand.filePart(name, value.dropFirst()))
    case UInt8(ascii: "<") where !isPlain: throw CurlCommand.file(shown, "Write name=@file, which sends it as a file.")
    default: parts.append(.text(name, value))
    }
    body = .form(parts)
  }

  /// A file with attributes, such as `photo.jpg;type=image/jpeg`.
  private static func filePart(_ name: String, _ text: Substring) throws(HTTPError) -> HTTPBody.Part {
    var attributes = text.split(separator: ";", omittingEmptySubsequences: false).map {
      FieldSyntax.trimmed(String($0))
    }
    let file = URL(fileURLWithPath: attributes.removeFirst())
    var (type, fileName) = ("application/octet-stream", file.lastPathComponent)
    for attribute in attributes {
      if attribute.hasPrefix("type=") {
        type = String(attribute.dropFirst(5))
      } else if attribute.hasPrefix("filename=") {
        fileName = String(attribute.dropFirst(9))
      } else {
        throw refused("has a file in a form with an attribute other than type and filename. Remove it.")
      }
    }
    return try .file(name, file, fileName: fileName, contentType: type)
  }

  private static var twoBodies: HTTPError { refused("has two kinds of a body. Choose data, a file or a form.") }

  /// Encodes the value of `--data-urlencode`: `value`, `=value` or `name=value`.
  private static func urlEncoded(_ text: String, _ shown: String) throws(HTTPError) -> String {
    let end = text.utf8.firstIndex { $0 == 0x3D || $0 == 0x40 }
    if let end, text.utf8[end] == 0x40 { throw file(shown, "Write its content.") }
    let value = end.map { text[text.utf8.index(after: $0)...] } ?? text[...]
    let name = end.map { text[..<$0] } ?? ""
    let encoded = ASCII.percentEncoded(String(value), keeping: ASCII.isUnreserved)
    return name.isEmpty ? encoded : "\(name)=\(encoded)"
  }
}

// MARK: - The request

extension CurlCommand {
  func request() throws(HTTPError) -> HTTPRequest {
    guard let text = url else { throw CurlCommand.refused("has no URL. Paste the whole command.") }
    guard keepsBrackets || !CurlCommand.isPattern(text) else {
      throw CurlCommand.refused(
        "has a URL with brackets or braces, which stand for several URLs. Add --globoff if they do not.")
    }
    var url = try HTTPURL(text.contains("://") ? text : "http://" + text)
    if isQuery { url = try queried(url) }
    var request = HTTPRequest(try usedMethod, url)
    for field in fields where !isTransports(field, url) {
      try request.addHeader(field.name, field.value)
    }
    request.timeout = timeout
    guard !isQuery else { return request }
    let type = request.headers["Content-Type"] ?? contentType
    switch body {
    case .none: break
    case .data(let data): request.body = .data(data, contentType: type)
    case .file(let file): request.body = .file(file, contentType: type)
    case .form(let parts): request.body = try .multipart(parts)
    }
    return request
  }

  /// Whether brackets or braces stand outside of an address such as `[::1]`.
  private static func isPattern(_ url: String) -> Bool {
    var rest = url.range(of: "://").map { url[$0.upperBound...] } ?? url[...]
    if rest.first == "[", let end = rest.firstIndex(of: "]") { rest = rest[rest.index(after: end)...] }
    return rest.utf8.contains { "[]{}".utf8.contains($0) }
  }

  private var usedMethod: HTTPMethod {
    get throws(HTTPError) {
      if let method { return method }
      if isHead { return .head }
      if case .none = body { return .get }
      return isQuery ? .get : .post
    }
  }

  /// Returns the URL with the data as its query.
  private func queried(_ url: HTTPURL) throws(HTTPError) -> HTTPURL {
    switch body {
    case .none: return url
    case .data(let data):
      let text = url.absoluteString
      return try HTTPURL(text + (url.query == nil ? "?" : "&") + String(decoding: data, as: UTF8.self))
    case .file, .form: throw CurlCommand.refused("has a file or a form as its query. Write the data.")
    }
  }

  /// Whether the transport sets the field itself, with the same meaning.
  private func isTransports(_ field: (name: String, value: String), _ url: HTTPURL) -> Bool {
    switch field.name.lowercased() {
    case "connection", "content-length", "te": true
    case "host": url.origin.hasSuffix("://" + field.value.lowercased())
    case "accept-encoding": isCompressed
    default: false
    }
  }
}
