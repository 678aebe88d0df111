import Foundation
import FutureTree

/// The bytes of a stream, collected while it is read, up to a limit.
package final class BodyCopy: Sendable {
  private let bytes: Locked<Data?>
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    bytes = Locked(Data())
  }

  /// The bytes. `nil` if there were more than the limit.
  package var body: Data? { bytes.value }

  func append(_ chunk: Data) {
    bytes.release { bytes -> Data? in
      guard let count = bytes?.count else { return nil }
      if chunk.count <= limit - count {
        bytes?.append(chunk)
        return nil
      }
      return bytes.take()
    }
  }
}

extension HTTPBodyStream {
  /// Copies the bytes that arrive from now on. The copy keeps no stream, which still ends when its caller drops it.
  ///
  /// - Returns: The copy. `nil` if bytes have arrived before, if the transfer has ended, or if the body is in memory or in a file.
  package func copy(limit: Int) -> BodyCopy? {
    let copy = BodyCopy(limit: limit)
    return pipe?.copy(to: copy) == true ? copy : nil
  }
}
