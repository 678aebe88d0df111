import Foundation

/// Ways to divide bytes into chunks.
enum Splits {
  /// The bytes as one chunk, as two and three chunks at every position, and byte by byte. Chunks can be empty.
  static func all(of bytes: Data) -> [[Data]] {
    var splits = [[bytes], bytes.map { Data([$0]) }]
    for second in 0...bytes.count {
      splits.append([bytes.prefix(second), bytes.dropFirst(second)])
      for first in 0...second {
        splits.append([bytes[..<first], bytes[first..<second], bytes[second...]])
      }
    }
    return splits
  }
}
