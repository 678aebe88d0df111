import Foundation

/// Where the body of an answer is put, as an option of its request.
///
/// ```swift
/// request[option: ResponseDelivery.self] = .file(URL(fileURLWithPath: "film.mp4"), maximumSize: 4 << 30)
/// let response = try await loader.load(request).value
/// if case .file(let url, _) = response.content { play(url) }
/// ```
public struct ResponseDelivery: HTTPRequestOption, Sendable {
  enum Place: Sendable {
    case memory
    case file(URL)
  }

  let place: Place

  /// The number of bytes that are accepted. `nil` keeps the loader's limit, and `Int.max` is no limit.
  public let maximumSize: Int?

  /// The largest body that is delivered to a file by default: 1 GiB, in bytes.
  public static let defaultMaximumFileSize = 1 << 30

  /// In memory, as the loader is configured.
  public static var defaultValue: ResponseDelivery { .buffered() }

  /// In memory, and at most this many bytes; nil: as many as the loader accepts.
  public static func buffered(maximumSize: Int? = nil) -> ResponseDelivery {
    ResponseDelivery(place: .memory, maximumSize: maximumSize)
  }

  /// In a file, if the status is one of 200 to 299 and the answer has a body. The body of another answer is an
  /// explanation, and comes in memory.
  ///
  /// The bytes are written beside `url` under another name, and the file is renamed when the body is whole. Whatever goes
  /// wrong before that leaves what was at `url` as it was, and no other file behind; the error has the code
  /// `unwritableBody` if the file system refused. A file that was at `url` is replaced. The file is not forced to disk.
  ///
  /// - Parameters:
  ///   - url: A file URL in a directory that exists.
  ///   - maximumSize: In bytes. A longer body fails with the code `bodyTooLarge`. Defaults to 1 GiB; `nil` disables the limit.
  public static func file(_ url: URL, maximumSize: Int? = defaultMaximumFileSize) -> ResponseDelivery {
    ResponseDelivery(place: .file(url), maximumSize: maximumSize ?? .max)
  }

  /// The file for the body of a successful response. `nil` delivers in memory.
  ///
  /// A transport that uses a `ResponseReceiver` need not read it.
  public var file: URL? {
    if case .file(let url) = place { url } else { nil }
  }
}

extension ResponseDelivery: CustomStringConvertible, CustomReflectable {
  /// Where bodies go, without the path of a file, which may be a secret.
  public var description: String {
    let limit = maximumSize.map { $0 == .max ? "" : ", at most \($0) bytes" } ?? ""
    return (file == nil ? "in memory" : "in a file") + limit
  }

  public var customMirror: Mirror { Mirror(self, children: ["delivery": description], displayStyle: .struct) }
}
