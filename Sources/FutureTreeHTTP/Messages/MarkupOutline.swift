import Foundation

/// The outline of an HTML or XML page, for errors about a body that should have been JSON.
///
/// A page can contain secrets anywhere: a token in a form, a name in a greeting, a sign-in link. H11 (nothing printable
/// shows a secret): the outline copies nothing from the page. It consists of constants of this file: names of elements,
/// and words in titles of servers and proxies. An ellipsis stands for all other content.
struct MarkupOutline: CustomStringConvertible {
  private(set) var description = ""

  /// The number of bytes to scan, and the number of elements to show.
  private static let (byteLimit, elementLimit) = (2_000, 12)

  private static let elements: Set<String> = [
    "base", "body", "div", "feed", "h1", "head", "html", "link", "meta", "noscript", "p", "rss", "script",
    "style", "title",
  ]

  private static let titleWords: Set<String> = [
    "Access", "Allowed", "Authentication", "Authorization", "Bad", "Denied", "Error", "Forbidden", "Found",
    "Gateway", "Gone", "In", "Internal", "Log", "Login", "Maintenance", "Many", "Method", "Moved", "Not", "Page",
    "Permanently", "Proxy", "Redirecting", "Request", "Requests", "Required", "Server", "Service", "Sign",
    "Temporarily", "Time-out", "Timeout", "Too", "Unauthorized", "Unavailable", "apache", "cloudflare", "nginx",
  ]

  /// - Parameter status: The status of the response. Titles may repeat its code.
  /// - Returns: `nil` if the body does not begin as markup.
  init?(of body: Data, status: HTTPStatus) {
    var rest = body.prefix(Self.byteLimit)[...]
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }  // A byte order mark.
    rest = rest.drop(while: Self.isBlank)
    guard rest.first == UInt8(ascii: "<") else { return nil }
    var isTitle = false
    for _ in 0..<Self.elementLimit {
      let text = rest.prefix { $0 != UInt8(ascii: "<") }
      if isTitle {
        description += Self.words(of: text, status)
        break
      }
      if !text.allSatisfy(Self.isBlank) { omit() }
      rest = rest[text.endIndex...]
      guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { break }
      let tag = String(decoding: rest[..<end].dropFirst(), as: UTF8.self).lowercased()
      rest = rest[end...].dropFirst()
      let name = tag.prefix { $0.isLetter || $0.isNumber }
      isTitle = name == "title"
      add(tag, named: String(name))
    }
    omit()
  }

  private mutating func add(_ tag: String, named name: String) {
    if tag == "!doctype html" {
      description += "<!DOCTYPE html>"
    } else if tag.hasPrefix("?xml ") {
      description += "<?xml …?>"
    } else if Self.elements.contains(name) {
      description += "<\(name)>"
    } else if !tag.hasPrefix("/") {
      omit()
    }
  }

  private mutating func omit() {
    if !description.hasSuffix("…") { description += "…" }
  }

  private static func words(of text: Data, _ status: HTTPStatus) -> String {
    let words = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).map { text in
      let word = text.trimmingCharacters(in: .punctuationCharacters)
      let known = titleWords.first { $0.lowercased() == word.lowercased() }
      return known ?? (word == "\(status)" ? "\(status)" : "…")
    }
    return words.reduce(into: [String]()) { shown, word in
      if word != "…" || shown.last != "…" { shown.append(word) }
    }.joined(separator: " ")
  }

  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
