import Foundation

#if os(Linux) || canImport(Darwin)
  internal import CCodings
#endif

extension HTTPBody {
  /// Returns the body in gzip (RFC 1952). Bytes in memory are compressed at once, other bodies each time they are sent.
  ///
  /// - Returns: `nil` if the system has no zlib, if there is no memory, or if the bytes in memory do not get fewer.
  func gzipped() -> HTTPBody? {
    let type = contentType ?? "application/octet-stream"
    switch content {
    case .empty: return nil
    case .data(let data):
      guard let encoder = GzipEncoder(), let start = try? encoder.encode(data), let end = try? encoder.encode(Data()),
        start.count + end.count < data.count
      else { return nil }
      return .data(start + end, contentType: type)
    case .file, .stream:
      guard GzipEncoder() != nil else { return nil }
      let isStream = if case .stream = content { true } else { false }
      return .stream(isReplayable: isReplayable, contentType: type) { [self] in
        let reader = try makeReader()
        if let asynchronous = reader.asynchronous?.source {
          return HTTPBodyReader(AsyncBodySource { AsyncGzipReader(asynchronous.open()) })
        }
        var blocks = GzipBlocks(isLive: isStream)
        return HTTPBodyReader { maximum in
          while blocks.needsBlock { try blocks.append(reader.read(upTo: GzipBlocks.blockSize)) }
          return blocks.encoded.takePrefix(maximum)
        }
      }
    }
  }
}

/// A body whose blocks are compressed when their bytes are needed.
private struct GzipBlocks {
  static let blockSize = 65_536

  /// Whether the source may pause after a block until the server has its bytes.
  let isLive: Bool
  private let encoder = GzipEncoder()
  private var hasEnded = false
  /// The encoded bytes that were not read.
  var encoded = Data()

  init(isLive: Bool) {
    self.isLive = isLive
  }

  var needsBlock: Bool { encoded.isEmpty && !hasEnded }

  /// Compresses a block. No bytes end the body.
  mutating func append(_ block: Data) throws(HTTPError) {
    guard let encoder else { throw GzipEncoder.fault }
    encoded = try encoder.encode(block, isFlushed: isLive)
    hasEnded = block.isEmpty
  }
}

private final class AsyncGzipReader: AsyncBodyReader {
  private let source: any AsyncBodyReader
  private var blocks = GzipBlocks(isLive: true)

  init(_ source: any AsyncBodyReader) {
    self.source = source
  }

  func read(upTo maximum: Int, isolation actor: isolated (any Actor)?) async throws -> Data {
    while blocks.needsBlock {
      let block = try await source.read(upTo: GzipBlocks.blockSize, isolation: actor)
      // In a cancelled task the end can be too early.
      if block.isEmpty { try Task.checkCancellation() }
      try blocks.append(block)
    }
    return blocks.encoded.takePrefix(maximum)
  }
}

/// An encoder of gzip over zlib of the system. It is used on one thread at a time.
private final class GzipEncoder {
  static let fault = HTTPError(
    .unreadableBody, "The body cannot be compressed, because there is no memory. Send it without compression.")

  #if os(Linux) || canImport(Darwin)
    private let pointer: OpaquePointer
    private var output = [UInt8](repeating: 0, count: 65_536)

    /// Returns `nil` if the system has no zlib, or if there is no memory.
    init?() {
      guard let pointer = cencoder_create() else { return nil }
      self.pointer = pointer
    }

    deinit { cencoder_destroy(pointer) }

    /// Returns the encoded bytes that a block adds. They can be none, because the encoder keeps some unless they are flushed. No bytes
    /// end the data.
    func encode(_ block: Data, isFlushed: Bool = false) throws(HTTPError) -> Data {
      let flush = block.isEmpty ? CEncoderEnds : isFlushed ? CEncoderFlushes : CEncoderKeeps
      var (input, encoded) = (block, Data())
      while true {
        var (unread, unwritten) = (input.count, output.count)
        let state = input.withUnsafeBytes { bytes in
          cencoder_encode(pointer, bytes.bindMemory(to: UInt8.self).baseAddress, &unread, flush, &output, &unwritten)
        }
        guard state != CCodingFailed else { throw GzipEncoder.fault }
        encoded += output.prefix(output.count - unwritten)
        input = input.suffix(unread)
        // A full output can have a rest.
        if unread == 0, unwritten > 0 { return encoded }
      }
    }
  #else
    init?() { nil }

    func encode(_ block: Data, isFlushed: Bool = false) throws(HTTPError) -> Data { throw GzipEncoder.fault }
  #endif
}
