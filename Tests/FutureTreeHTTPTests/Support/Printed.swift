import Foundation
import FutureTreeHTTP
import HTTPTestSupport

/// All text that printing a value can show: its descriptions, the output of `dump`, and every value in its mirrors.
func printed(_ value: Any) -> String {
  var text = "\(value)\n" + String(reflecting: value) + "\n"
  dump(value, to: &text)
  if let error = value as? any Error { text += error.localizedDescription + "\n\(error as NSError)\n" }
  var walk = MirrorWalk()
  walk.visit(value, depth: 0)
  return text + walk.text
}

/// Whether a printed value shows the secret of the tests, as text, as bytes, or encoded.
func showsSecret(_ value: Any) -> Bool { Secrets.isIn(printed(value)) }

enum Secrets {
  static func isIn(_ text: String) -> Bool {
    let bytes = Data(text.utf8)
    return patterns.contains { bytes.range(of: $0) != nil }
  }

  private static let patterns = all.map { Data($0.utf8) }

  /// Base64 encodes it in three ways, depending on its offset. Neighbors change the letters at its ends.
  private static let all: [String] =
    [sentinel, String(sentinel.reversed())]
    + (0..<3).map { offset in
      let encoded = Data((String(repeating: "x", count: offset) + sentinel).utf8).base64EncodedString()
      return String(encoded.dropFirst(4).dropLast(4))
    }
    + [", ", "\n", ","].map { separator in sentinel.utf8.map { "\($0)" }.joined(separator: separator) }
    + [sentinel.utf8.map { "- \($0)" }.joined(separator: "\n"), sentinel.utf8.map { String($0, radix: 16) }.joined()]
    + [sentinel.utf8.map { String($0, radix: 16, uppercase: true) }.joined()]
}

/// The values in mirrors, in depth. Objects are visited once.
private struct MirrorWalk {
  private(set) var text = ""
  private var visited: Set<ObjectIdentifier> = []
  private var count = 0

  mutating func visit(_ value: Any, depth: Int) {
    count += 1
    guard depth < 40, count < 200_000 else { return }
    if type(of: value) is AnyClass, !visited.insert(ObjectIdentifier(value as AnyObject)).inserted { return }
    text += "\(value)\n" + String(reflecting: value) + "\n"
    var mirror: Mirror? = Mirror(reflecting: value)
    while let current = mirror {
      for child in current.children {
        text += child.label.map { $0 + "\n" } ?? ""
        visit(child.value, depth: depth + 1)
      }
      mirror = current.superclassMirror
    }
  }
}
