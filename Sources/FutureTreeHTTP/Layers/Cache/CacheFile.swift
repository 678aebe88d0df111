import Foundation

/// The names and the content of the files of a cache. Pure.
///
/// The name of a file is made of digests of the URL, of the credentials, and of the fields that `Vary` selects. Each is computed
/// with the random key of the directory, so that a name does not show them and that a removed key makes all files unusable.
///
/// The first line of a file is the name of the format and the digest of the name and the rest. The second line is the head, as
/// JSON. The body follows. A file that was cut, changed or renamed does not match its digest.
struct CacheFile: Sendable, Equatable {
  private struct Head: Codable {
    let status: Int
    /// Names and values, in turn.
    let fields: [String]
    let asked: Double
    let answered: Double
    let marks: UInt8
  }

  private static let format = "FutureTree response 1"
  private static let digestLength = 32
  private static let nameLength = 3 * digestLength + 2

  let key: [UInt8]

  /// The part of a name that all responses for a URL share.
  func url(_ url: String) -> String { digest(["url", url]) }

  /// The part of a name that all responses for a user share.
  func user(_ credentials: [String]) -> String { digest(["user"] + credentials) }

  func name(of entry: CacheEntry) -> String {
    let fields = entry.selectors.flatMap { ["field", $0.name] + $0.elements }
    return [url(entry.key.url), user(entry.key.credentials), digest(fields)].joined(separator: "-")
  }

  /// The end of the name of a response that depends on no fields of the request.
  var endWithoutVary: String { digest([]) }

  /// Returns whether a name can be that of a response.
  static func isName(_ name: String) -> Bool {
    name.utf8.count == nameLength && name.utf8.allSatisfy { ASCII.isHexDigit($0) || $0 == UInt8(ascii: "-") }
  }

  /// The parts of a valid name that `url(_:)` and `user(_:)` return.
  static func parts(of name: String) -> (url: String, user: String) {
    (String(name.prefix(digestLength)), String(name.dropFirst(digestLength + 1).prefix(digestLength)))
  }

  static func encode(_ entry: CacheEntry, name: String) throws -> Data {
    let head = Head(
      status: entry.status.code, fields: entry.headers.flatMap { [$0.name, $0.value] }, asked: entry.times.asked,
      answered: entry.times.answered, marks: entry.marks.rawValue)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return seal(try encoder.encode(head) + Data("\n".utf8) + entry.body, name: name)
  }

  /// Returns the content of a file: the digest, and the rest.
  static func seal(_ rest: Data, name: String) -> Data {
    Data("\(format) \(digest(of: rest, name))\n".utf8) + rest
  }

  /// Returns the response in a file, if it answers `request`.
  ///
  /// - Returns: `nil` for a damaged file.
  static func decode(_ data: Data, name: String, _ key: CacheKey, _ request: HTTPRequest) -> CacheEntry? {
    let newline = UInt8(ascii: "\n")
    guard let end = data.firstIndex(of: newline) else { return nil }
    let rest = data[end...].dropFirst()
    guard data[..<end].elementsEqual("\(format) \(digest(of: rest, name))".utf8),
      let endOfHead = rest.firstIndex(of: newline),
      let head = try? JSONDecoder().decode(Head.self, from: Data(rest[..<endOfHead])),
      (100...999).contains(head.status), head.fields.count.isMultiple(of: 2)
    else { return nil }
    let fields = stride(from: 0, to: head.fields.count, by: 2)
    guard let headers = try? HTTPHeaders(fields.map { try .init(received: head.fields[$0], head.fields[$0 + 1]) })
    else {
      return nil
    }
    return CacheEntry(
      request, key, status: HTTPStatus(head.status), headers: headers, CacheControl(headers),
      body: Data(rest[endOfHead...].dropFirst()), marks: HTTPResponse.Marks(rawValue: head.marks),
      CacheEntry.Times(asked: head.asked, answered: head.answered))
  }

  /// Returns a digest of the key and the texts, in hexadecimal. The length of each text is part of it.
  private func digest(_ texts: [String]) -> String {
    var bytes = key
    for text in texts { bytes += "\(text.utf8.count):\(text)".utf8 }
    return String(ASCII.hexadecimal(sha256(of: bytes)).prefix(CacheFile.digestLength))
  }

  private static func digest(of rest: Data, _ name: String) -> String {
    ASCII.hexadecimal(sha256(of: Data(name.utf8) + rest))
  }
}
