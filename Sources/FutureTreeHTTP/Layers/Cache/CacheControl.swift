/// The directives of `Cache-Control` in a request or a response (RFC 9111, section 5.2).
struct CacheControl: Sendable, Equatable {
  /// The arguments of each directive, by its name in lower case.
  private var arguments: [String: [String?]] = [:]

  init(_ headers: HTTPHeaders) {
    for element in headers.elements(of: "Cache-Control") {
      let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = FieldSyntax.trimmed(String(parts[0])).lowercased()
      arguments[name, default: []].append(parts.count > 1 ? CacheControl.unquoted(String(parts[1])) : nil)
    }
  }

  func contains(_ name: String) -> Bool { arguments[name] != nil }

  /// Returns the seconds of a directive, or `nil` if there is none. If it occurs several times, the smallest value applies
  /// (section 4.2.1).
  ///
  /// - Parameters:
  ///   - missing: The value of a directive without an argument.
  ///   - invalid: The value of a directive whose argument is not a number.
  func seconds(_ name: String, missing: Double = 0, invalid: Double = 0) -> Double? {
    arguments[name]?.map { argument in
      argument.map { CacheControl.deltaSeconds($0) ?? invalid } ?? missing
    }.min()
  }

  /// Parses `delta-seconds`. Large numbers do not overflow (section 1.2.2).
  static func deltaSeconds(_ text: String) -> Double? { FieldSyntax.seconds(text).map { min($0, 2_147_483_648) } }

  /// Both forms of an argument are accepted, with quotes and without.
  private static func unquoted(_ text: String) -> String {
    let text = FieldSyntax.trimmed(text)
    guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return text }
    return String(text.dropFirst().dropLast())
  }
}
