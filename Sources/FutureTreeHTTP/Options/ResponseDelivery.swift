import Foundation
import FutureTree

/// A request option that determines where the body of the response is delivered.
///
/// ```swift
/// request.delivery = .file(URL(fileURLWithPath: "film.mp4"), maximumSize: 4 << 30)
/// let response = try await loader.load(request).value
/// if case .file(let url, _) = response.content { play(url) }
/// ```
public struct ResponseDelivery: HTTPRequestOption, Sendable {
  enum Place: Sendable {
    case memory
    case file(URL)
    case stream(bufferLimit: Int, idleReadTimeout: Duration?)
  }

  let place: Place
  /// The owner of the file, if the file is temporary.
  private(set) var pending: PendingFile?

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
  /// The bytes are written to a temporary file next to `url`, which is renamed when the body is complete and the load
  /// succeeds. An existing file at `url` is replaced then. If the load fails or is cancelled, the existing file is unchanged,
  /// and no other file is left behind. If a request with `.forceImmediately` or `.doNotForwardRequest` arrives while the file is
  /// renamed, the load ends as `.cancelled` although the file has its name.
  ///
  /// A process that is killed leaves its temporary file, `.FutureTree-….partial`, until a later body is delivered into the same
  /// directory. In a directory with more than 10,000 files, it can remain.
  ///
  /// If the file system refuses an operation, the load fails with the code `unwritableBody`. The file is not
  /// synchronized to disk.
  ///
  /// - Parameters:
  ///   - url: A file URL in an existing directory.
  ///   - maximumSize: The maximum size in bytes. A longer body fails with the code `bodyTooLarge`. Defaults to 1 GiB.
  ///     `nil` disables the limit.
  public static func file(_ url: URL, maximumSize: Int? = defaultMaximumFileSize) -> ResponseDelivery {
    ResponseDelivery(place: .file(url), maximumSize: maximumSize ?? .max)
  }

  /// Delivers the body as a stream if the status is in 200 to 299 and the response has a body. The load's future completes
  /// when the head of the response has arrived. The bodies of other responses are delivered in memory, whole.
  ///
  /// ```swift
  /// request.delivery = .stream()
  /// for try await chunk in try await api.load(request).value.bodyStream { handle(chunk) }
  /// ```
  ///
  /// - Parameters:
  ///   - bufferLimit: The maximum number of bytes that wait for the reader. A transport without back-pressure fails with
  ///     the code `streamOverflow` if it has more. A transport with back-pressure pauses at half of the limit, at 256 KiB at
  ///     the latest. A chunk is never split, so one large chunk can exceed the limit. Defaults to 16 MiB. Values below 0 are
  ///     treated as 0.
  ///   - idleReadTimeout: The maximum time between two reads. A slower reader fails the transfer with the code
  ///     `bodyNotRead`. The time in which the reader waits for bytes does not count. Defaults to 60 seconds. `nil`
  ///     disables the limit.
  ///   - maximumSize: The maximum size of the body in bytes. A longer body fails with the code `bodyTooLarge`. Defaults to
  ///     `nil`, which disables the limit.
  public static func stream(
    bufferLimit: Int = defaultBufferLimit, idleReadTimeout: Duration? = .seconds(60), maximumSize: Int? = nil
  ) -> ResponseDelivery {
    ResponseDelivery(
      place: .stream(bufferLimit: max(0, bufferLimit), idleReadTimeout: idleReadTimeout),
      maximumSize: maximumSize ?? .max)
  }

  /// The default number of bytes that wait for the reader of a stream: 16 MiB.
  public static let defaultBufferLimit = 16 << 20

  /// Whether the body of a successful response is delivered as a stream.
  ///
  /// A transport that uses a `ResponseReceiver` does not need this property.
  public var isStream: Bool {
    if case .stream = place { true } else { false }
  }

  var isInMemory: Bool {
    if case .memory = place { true } else { false }
  }

  /// Returns the rules of a stream for a request. Without a stream delivery they are the defaults.
  func streamRules(for request: HTTPRequest) -> StreamState.Rules {
    guard case .stream(let bufferLimit, let idleReadTimeout) = place else {
      return ResponseDelivery.stream().streamRules(for: request)
    }
    return StreamState.Rules(request: request, bufferLimit: bufferLimit, idleReadTimeout: idleReadTimeout)
  }

  /// Returns the delivery of a transfer that is a part of a body. It is a stream, whose reader may wait without a limit.
  package var forTransfer: ResponseDelivery {
    var bufferLimit = ResponseDelivery.defaultBufferLimit
    if case .stream(let limit, _) = place { bufferLimit = limit }
    return .stream(bufferLimit: bufferLimit, idleReadTimeout: nil, maximumSize: maximumSize)
  }

  /// The file for the body of a successful response. `nil` selects delivery in memory or as a stream.
  ///
  /// Layers and transports in a chain see a temporary file, which is renamed when the load has succeeded. A transport that uses
  /// a `ResponseReceiver` does not need this property.
  public var file: URL? {
    if case .file(let url) = place { url } else { nil }
  }

  /// Refuses a file that cannot be created, before the request is sent.
  package func checkFile() throws(HTTPError) {
    if let file { try BodyFile.check(pending?.destination ?? file) }
  }

  /// Returns the delivery to a temporary file.
  func replacingFile(with file: PendingFile) -> ResponseDelivery {
    var delivery = ResponseDelivery(place: .file(file.url), maximumSize: maximumSize)
    delivery.pending = file
    return delivery
  }
}

extension HTTPRequest {
  /// The delivery of the body: in memory, into a file, or as a stream.
  public var delivery: ResponseDelivery {
    get { self[option: ResponseDelivery.self] }
    set { self[option: ResponseDelivery.self] = newValue }
  }
}

extension ResponseDelivery: CustomStringConvertible, CustomReflectable {
  /// The kind of the delivery, without the path of the file, which may be a secret.
  public var description: String {
    let limit = maximumSize.map { $0 == .max ? "" : ", at most \($0) bytes" } ?? ""
    return placeText + limit
  }

  private var placeText: String {
    switch place {
    case .memory: "in memory"
    case .file: "in a file"
    case .stream: "as a stream"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["delivery": description], displayStyle: .struct) }
}
