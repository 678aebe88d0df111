/// An authentication challenge of the header field `WWW-Authenticate` (RFC 9110, section 11.6.1).
///
/// ```swift
/// // WWW-Authenticate: Bearer realm="example", error="invalid_token"
/// let challenge = response.challenges.first { $0.isOf(scheme: "Bearer") }
/// challenge?["error"]  // "invalid_token"
/// ```
public struct AuthenticationChallenge: Sendable, Hashable {
  /// The name of the scheme, as the server spells it.
  public let scheme: String
  /// The token that follows the scheme, if the challenge has no list of parameters.
  public let token68: String?
  /// The values of the parameters. The keys are names in lower case.
  public let parameters: [String: String]

  /// Returns the value of a parameter. The name is compared case-insensitively.
  public subscript(name: String) -> String? { parameters[name.lowercased()] }

  /// Returns whether the challenge has this scheme. Schemes are compared case-insensitively.
  public func isOf(scheme: String) -> Bool { self.scheme.lowercased() == scheme.lowercased() }

  /// Parses one field value as a list of challenges.
  ///
  /// - Returns: The challenges in order. `nil` if the value is not a list of challenges, or a parameter occurs twice in
  ///   one challenge.
  /// - Complexity: O(n) in the length of the value.
  public static func challenges(in value: String) -> [AuthenticationChallenge]? {
    var reader = ChallengeReader(value)
    return reader.challenges()
  }
}

extension HTTPResponse {
  /// The challenges of all `WWW-Authenticate` fields, in order. Malformed fields are skipped.
  public var challenges: [AuthenticationChallenge] {
    headers.values(for: "WWW-Authenticate").flatMap { AuthenticationChallenge.challenges(in: $0) ?? [] }
  }
}

/// A parser for a list of challenges. A comma separates challenges as well as parameters: the text after a comma is a
/// parameter if `=` follows its first token.
private struct ChallengeReader: ByteReader {
  let bytes: [UInt8]
  var position = 0

  init(_ value: String) {
    bytes = Array(value.utf8)
  }

  private var isAtEndOfElement: Bool { current == nil || current == UInt8(ascii: ",") }

  mutating func challenges() -> [AuthenticationChallenge]? {
    var challenges: [AuthenticationChallenge] = []
    skipSeparators()
    while current != nil {
      guard let challenge = challenge() else { return nil }
      challenges.append(challenge)
      skipSeparators()
    }
    return challenges
  }

  /// Reads a scheme and its token or parameters. Afterward the reader is at a comma, at the next scheme, or at the end.
  private mutating func challenge() -> AuthenticationChallenge? {
    guard let scheme = token() else { return nil }
    let hasBlank = take(UInt8(ascii: " "))
    skipBlanks()
    let isElement = isAtEndOfElement
    guard hasBlank || isElement else { return nil }
    guard hasBlank else { return AuthenticationChallenge(scheme: scheme, token68: nil, parameters: [:]) }
    if let token68 = token68() { return AuthenticationChallenge(scheme: scheme, token68: token68, parameters: [:]) }
    skipSeparators()
    let parameters = parameters(areOptional: isElement)
    return parameters.map { AuthenticationChallenge(scheme: scheme, token68: nil, parameters: $0) }
  }

  /// - Parameter areOptional: Whether the next scheme may follow immediately. It may after an empty list element, which
  ///   belongs either to the parameters or to the challenges (RFC 9110, section 11.6.1).
  private mutating func parameters(areOptional: Bool) -> [String: String]? {
    var parameters: [String: String] = [:]
    while current != nil {
      let start = position
      guard let name = token() else { return nil }
      skipBlanks()
      guard take(UInt8(ascii: "=")) else {
        position = start  // The token is a scheme.
        return parameters.isEmpty && !areOptional ? nil : parameters
      }
      skipBlanks()
      guard let value = token() ?? quoted(), parameters.updateValue(value, forKey: name.lowercased()) == nil else {
        return nil
      }
      skipBlanks()
      guard isAtEndOfElement else { return nil }
      skipSeparators()
    }
    return parameters
  }

  /// Reads a token of letters, digits and some marks, with any number of `=` at the end, up to the end of the element.
  /// Reads nothing if the element has another form.
  private mutating func token68() -> String? {
    let start = position
    skip { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._~+/".utf8.contains($0) }
    guard position > start else { return nil }
    skip { $0 == UInt8(ascii: "=") }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    skipBlanks()
    if isAtEndOfElement { return text }
    position = start
    return nil
  }

  private mutating func token() -> String? {
    let token = text(while: FieldSyntax.isTokenByte)
    return token.isEmpty ? nil : token
  }

  private mutating func quoted() -> String? {
    guard let quoted = quotedString(), quoted.isClosed, quoted.text.utf8.allSatisfy(ChallengeReader.isText) else {
      return nil
    }
    return quoted.text
  }

  private static func isText(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7F }

  private mutating func skipSeparators() { skip { $0 == UInt8(ascii: ",") || FieldSyntax.isBlank($0) } }

  private mutating func skipBlanks() { skip(FieldSyntax.isBlank) }
}
