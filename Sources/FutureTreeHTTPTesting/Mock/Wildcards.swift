/// A pattern with wildcards: `*` matches any characters of one part, `**` any characters. Both also match no characters.
///
/// Matching never backtracks, so its time is bounded for every pattern.
struct Wildcards: Sendable {
  private enum Token: Equatable {
    case byte(UInt8)
    case anyInPart
    case any
  }

  private let tokens: [Token]
  private let separator: UInt8

  /// - Parameter separator: The separator of parts, which `*` does not match.
  init(_ pattern: String, separator: Character) {
    var tokens: [Token] = []
    for byte in pattern.utf8 {
      if byte != UInt8(ascii: "*") {
        tokens.append(.byte(byte))
      } else if tokens.last == .anyInPart {
        tokens[tokens.count - 1] = .any
      } else if tokens.last != .any {
        tokens.append(.anyInPart)
      }
    }
    self.tokens = tokens
    self.separator = separator.asciiValue ?? 0
  }

  /// - Complexity: O(n × m) in the lengths of pattern and text.
  func matches(_ text: String) -> Bool {
    var reached = skippingEmptyRuns([0])
    for byte in text.utf8 {
      reached = skippingEmptyRuns(Set(reached.compactMap { position(after: byte, at: $0) }))
    }
    return reached.contains(tokens.count)
  }

  private func position(after byte: UInt8, at position: Int) -> Int? {
    guard position < tokens.count else { return nil }
    switch tokens[position] {
    case .byte(let expected): return byte == expected ? position + 1 : nil
    case .anyInPart: return byte == separator ? nil : position
    case .any: return position
    }
  }

  /// Adds the positions after wildcards, because a wildcard may match no characters.
  private func skippingEmptyRuns(_ positions: Set<Int>) -> Set<Int> {
    var reached = positions
    for var position in positions {
      while position < tokens.count, tokens[position] == .any || tokens[position] == .anyInPart {
        position += 1
        reached.insert(position)
      }
    }
    return reached
  }
}
