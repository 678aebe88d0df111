import Foundation
import FutureTreeHTTP

extension HTTPBody {
  /// All bytes, as a transport sends them.
  func bytes() throws -> Data { try pieces(of: 1000).reduce(Data(), +) }

  /// All bytes, read in pieces of at most this size.
  func pieces(of size: Int) throws -> [Data] {
    let reader = try makeReader()
    var pieces: [Data] = []
    while true {
      let piece = try reader.read(upTo: size)
      guard !piece.isEmpty else { return pieces }
      pieces.append(piece)
    }
  }
}

extension HTTPBodyStream {
  /// The chunks, as text.
  func texts() async throws -> [String] {
    try await reduce(into: []) { $0.append(String(decoding: $1, as: UTF8.self)) }
  }
}

/// A file that is deleted with this object.
final class TemporaryFile: Sendable {
  let url: URL

  init(_ text: String, extension: String = "txt") throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-\(UUID()).\(`extension`)")
    try Data(text.utf8).write(to: url)
  }

  func resize(to size: Int) throws {
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: UInt64(size))
    try handle.close()
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}
