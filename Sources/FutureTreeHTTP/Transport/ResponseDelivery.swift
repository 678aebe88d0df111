import Foundation

/// A request option that determines where the body of the response is delivered.
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

  /// The maximum number of bytes. `nil` selects the limit of the loader, and `Int.max` disables the limit.
  public let maximumSize: Int?

  /// The default size limit of a body that is delivered to a file: 1 GiB, in bytes.
  public static let defaultMaximumFileSize = 1 << 30

  /// Defaults to memory, with the limit of the loader.
  public static var defaultValue: ResponseDelivery { .buffered() }

  /// Delivers the body in memory.
  ///
  /// - Parameter maximumSize: The maximum size in bytes. A longer body fails with the code `bodyTooLarge`. `nil` selects
  ///   the limit of the loader.
  public static func buffered(maximumSize: Int? = nil) -> ResponseDelivery {
    ResponseDelivery(place: .memory, maximumSize: maximumSize)
  }

  /// Delivers the body into a file if the status is in 200 to 299 and the response has a body. The bodies of other
  /// responses are delivered in memory.
  ///
  /// The bytes are written to a temporary file next to `url`, which is renamed when the body is complete. An existing
  /// file at `url` is replaced then. If the load fails before, the existing file is unchanged, and no other file is left
  /// behind. If the file system refuses an operation, the load fails with the code `unwritableBody`. The file is not
  /// synchronized to disk.
  ///
  /// - Parameters:
  ///   - url: A file URL in an existing directory.
  ///   - maximumSize: The maximum size in bytes. A longer body fails with the code `bodyTooLarge`. Defaults to 1 GiB.
  ///     `nil` disables the limit.
  public static func file(_ url: URL, maximumSize: Int? = defaultMaximumFileSize) -> ResponseDelivery {
    ResponseDelivery(place: .file(url), maximumSize: maximumSize ?? .max)
  }

  /// The file for the body of a successful response. `nil` selects delivery in memory.
  ///
  /// A transport that uses a `ResponseReceiver` does not need this property.
  public var file: URL? {
    if case .file(let url) = place { url } else { nil }
  }
}

extension ResponseDelivery: CustomStringConvertible, CustomReflectable {
  /// The kind of the delivery, without the path of the file, which may be a secret.
  public var description: String {
    let limit = maximumSize.map { $0 == .max ? "" : ", at most \($0) bytes" } ?? ""
    return (file == nil ? "in memory" : "in a file") + limit
  }

  public var customMirror: Mirror { Mirror(self, children: ["delivery": description], displayStyle: .struct) }
}
