import FutureTree

/// A layer that compresses the bodies of requests with gzip.
///
/// ```swift
/// let api = CompressBodies() --> Retry() --> SystemLoader()
/// let report = api.post("https://example.com/reports", json: ["count": 3])
/// ```
///
/// A compressed body has the field `Content-Encoding: gzip` (RFC 9110, section 8.4.1). Use the layer only for servers that decode
/// requests. Others respond with 415 (Unsupported Media Type), or fail. A ``Route`` limits the layer to some hosts or paths.
///
/// Put the layer before `Retry`, `Redirect` and `Hedge`: all attempts then send the same compressed bytes.
///
/// **Bytes in memory** are compressed once. A body is sent as it is if it is smaller than `minimumSize`, or if gzip does not make it
/// smaller. Bodies of 64 KiB or more are compressed on `executor`, so that they do not block the thread of the load.
///
/// **Files and streams** are compressed block by block while they are sent, and again for each attempt. Their compressed length is
/// not known before, so that the request has no `Content-Length`. A server can refuse it for that reason with 411 (Length Required).
/// A chunk of a stream is sent when it is read, also if the stream then pauses. Many small chunks are therefore compressed less.
///
/// **Unchanged requests.** These requests are forwarded as they are:
///
/// - The request has `Content-Encoding`, or a field that describes the bytes of its body: `Content-Digest`, `Repr-Digest`, `Digest`,
///   `Content-MD5` or `Content-Range`.
/// - The media type of the body is compressed: most pictures, audio and video, archives, and fonts for the web.
/// - The system has no zlib, or there is no memory.
///
/// **Cancellation.** A load that is cancelled while its body is compressed sends no request.
///
/// **Reset.** The layer has no state. An `Autocancel` before it cancels loads whose bodies are compressed.
public struct CompressBodies: HTTPLayer {
  private static let largestInline = 65_536

  private let minimumSize: Int
  private let executor: FutureExecutor

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - minimumSize: The size in bytes from which bytes in memory are compressed. Defaults to 1 KiB: the packet of a smaller body has
  ///     room for it as it is.
  ///   - executor: The executor that compresses bytes in memory of 64 KiB or more. Defaults to the concurrent system queue.
  public init(minimumSize: Int = 1_024, on executor: FutureExecutor = .global()) {
    self.minimumSize = minimumSize
    self.executor = executor
  }

  /// Compresses the body, and loads the request with `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard isCompressible(request) else { return next.load(request) }
    guard let size = request.body.data?.count, size >= CompressBodies.largestInline else {
      return .attempt { next.load(try CompressBodies.compressed(request)) }
    }
    return Future.succeeded(request).map(on: executor) { try CompressBodies.compressed($0) }.flatMap { next.load($0) }
      .named(.compressBodies)
  }

  private func isCompressible(_ request: HTTPRequest) -> Bool {
    let body = request.body
    if body.isEmpty { return false }
    if let data = body.data, data.count < minimumSize { return false }
    return !CompressBodies.fields.contains { request.headers.contains($0) }
      && !CompressBodies.isCompressed(request.headers["Content-Type"] ?? body.contentType ?? "")
  }

  /// The fields of requests whose bodies stay as they are.
  private static let fields = [
    "Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "Content-Range",
  ]

  /// Returns whether data of a media type is compressed already.
  private static func isCompressed(_ type: String) -> Bool {
    let name = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
    let isMedia = ["image/", "audio/", "video/"].contains { name.hasPrefix($0) }
    return isMedia && name != "image/svg+xml" && name != "image/bmp" && name != "audio/wav"
      || name.hasSuffix("+zip") || name.hasSuffix("+gzip") || archives.contains(name)
  }

  private static let archives: Set<String> = [
    "application/zip", "application/gzip", "application/x-gzip", "application/zstd", "application/x-bzip2",
    "application/x-xz", "application/x-7z-compressed", "application/vnd.rar", "application/java-archive",
    "font/woff", "font/woff2",
  ]

  private static func compressed(_ request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    guard let body = request.body.gzipped() else { return request }
    var request = request
    request.body = body
    try request.setHeader("Content-Encoding", "gzip")
    return request
  }
}

extension FutureName {
  fileprivate static let compressBodies = FutureName("CompressBodies")
}
