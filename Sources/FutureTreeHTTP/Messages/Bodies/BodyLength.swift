import Foundation

/// The check that a source yields the announced number of bytes. Pure: it reads nothing itself.
///
/// Before each read of the source, call `request(upTo:)`. After it, call `receive(_:)`. The last bytes are delivered only
/// after the source has reported its end, so that a body that is too long never looks complete.
struct BodyLength: Sendable {
  private let announced: Int
  private let name: String
  private var left: Int
  private var hasSeenEnd = false

  /// - Parameter name: The body in the text of an error, such as "The body".
  init(_ announced: Int, of name: String) {
    self.announced = announced
    self.name = name
    left = announced
  }

  /// Whether all bytes have arrived and the end of the source has not been seen. Read once more before the bytes are
  /// delivered.
  var mustSeeEnd: Bool { left == 0 && !hasSeenEnd }

  /// Returns the maximum number of bytes to read from the source, or `nil` at its end.
  func request(upTo maximum: Int) -> Int? { hasSeenEnd ? nil : left > 0 ? min(maximum, left) : 1 }

  /// Registers a read of this many bytes. 0 is the end of the source.
  mutating func receive(_ count: Int) throws(HTTPError) {
    guard count > 0 else {
      guard left == 0 else {
        throw HTTPError(
          .wrongBodyLength,
          "\(name) ended after \(announced - left) of the declared \(announced) bytes. Declare the actual length.")
      }
      hasSeenEnd = true
      return
    }
    guard left > 0 else {
      throw HTTPError(
        .wrongBodyLength, "\(name) has more than the declared \(announced) bytes. Declare the actual length.")
    }
    left -= count
  }
}

extension Data {
  /// Removes the first bytes, at most `maximum`, and returns them.
  mutating func takePrefix(_ maximum: Int) -> Data {
    let first = prefix(maximum)
    self = dropFirst(maximum)
    return first
  }
}
