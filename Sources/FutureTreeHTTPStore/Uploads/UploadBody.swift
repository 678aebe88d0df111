import Foundation
import FutureTreeHTTP

/// A body whose rest can be sent from any position.
struct UploadBody: Sendable {
  /// The number of bytes.
  let length: Int
  /// The version of the file. `nil` if the body is not a file.
  let version: FileVersion?
  private let body: HTTPBody

  /// Returns `nil` if the rest of the body cannot be sent: the number of bytes is not known, or the body can be sent only once.
  init?(_ body: HTTPBody) {
    self.body = body
    switch body.content {
    case .file(let url):
      guard let version = FileVersion(url) else { return nil }
      (length, self.version) = (version.size, version)
    case .data(let data): (length, version) = (data.count, nil)
    case .stream(let length?, isReplayable: true, _) where length >= 0: (self.length, version) = (length, nil)
    case .empty, .stream: return nil
    }
  }

  /// Returns a body with a part of the bytes. A file that has changed in the meantime fails with the code `wrongBodyLength`.
  func part(_ range: Range<Int>, contentType: String) -> HTTPBody {
    switch body.content {
    case .data(let data):
      return .data(Data(data.dropFirst(range.lowerBound).prefix(range.count)), contentType: contentType)
    case .file(let url):
      return .stream(length: range.count, contentType: contentType) { [version] in
        let file = try FileHandle(forReadingFrom: url)
        guard FileVersion(url) == version else {
          throw HTTPError(.wrongBodyLength, "The file of the body changed during its upload. Load the request again.")
        }
        try file.seek(toOffset: UInt64(range.lowerBound))
        return HTTPBodyReader(range.count) { maximum in try file.read(upToCount: maximum) ?? Data() }
      }
    case .empty, .stream:
      return .stream(length: range.count, contentType: contentType) { [body] in
        let reader = try body.makeReader()
        var skipped = 0
        while skipped < range.lowerBound {
          let bytes = try reader.read(upTo: min(65_536, range.lowerBound - skipped))
          guard !bytes.isEmpty else { break }  // The reader of the part reports the missing bytes.
          skipped += bytes.count
        }
        return HTTPBodyReader(range.count) { maximum in try reader.read(upTo: maximum) }
      }
    }
  }
}

extension HTTPBodyReader {
  /// Creates a reader of the first bytes of a source.
  fileprivate init(_ count: Int, _ read: @escaping (_ maximum: Int) throws -> Data) {
    var left = count
    self.init { maximum in
      guard left > 0 else { return Data() }
      let bytes = try read(min(maximum, left))
      left -= bytes.count
      return bytes
    }
  }
}

/// The size of a regular file, and the time of its last change.
struct FileVersion: Codable, Hashable {
  let size: Int
  /// In seconds since 2001.
  let modified: Double

  /// Returns `nil` if there is no regular file.
  init?(_ url: URL) {
    guard url.isFileURL,
      let file = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path),
      file[.type] as? FileAttributeType == .typeRegular, let size = file[.size] as? NSNumber,
      let date = file[.modificationDate] as? Date
    else { return nil }
    (self.size, modified) = (size.intValue, date.timeIntervalSinceReferenceDate)
  }
}
