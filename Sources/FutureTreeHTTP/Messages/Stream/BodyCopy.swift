import Foundation
import FutureTree

/// The bytes of a stream, collected while it is read, up to a limit.
final class BodyCopy: Sendable {
  private let bytes: Locked<Data?>
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    bytes = Locked(Data())
  }

  /// The bytes. `nil` if there were more than the limit.
  var body: Data? { bytes.value }

  func append(_ chunk: Data) {
    let dropped = bytes.withLock { bytes -> Data? in
      guard let count = bytes?.count else { return nil }
      if chunk.count <= limit - count {
        bytes?.append(chunk)
        return nil
      }
      return bytes.take()
    }
    _ = dropped  // Released here, not under the lock.
  }
}
