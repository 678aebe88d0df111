/// A reader of a body in chunks (RFC 9112, section 7.1). Pure.
///
/// libcurl finds the end of such a body by itself. It accepts other text after the size of a chunk, and parsers that disagree about
/// the size of a chunk disagree about the end of the response, so this reader decides.
struct ChunkedBody {
  enum Part {
    /// Bytes of the body, in the memory of the input.
    case bytes(UnsafeRawBufferPointer)
    /// A line after the last chunk.
    case trailer([UInt8])
  }

  private enum State: Equatable {
    case size
    /// After a blank: only blanks can precede an extension.
    case blanks
    case chunkExtension
    case lineFeedOfSize
    case bytes
    case carriageReturnOfBytes
    case lineFeedOfBytes
    case trailer
    case lineFeedOfTrailer
    case ended
  }

  /// The maximum size of the trailers, and of the extensions of one chunk, in bytes.
  static let limit = 1 << 16

  /// Whether the last chunk and the end of the trailers have arrived.
  var hasEnded: Bool { state == .ended }

  private var state = State.size
  private var remaining = 0
  private var digitCount = 0
  private var extensionSize = 0
  private var trailersSize = 0
  private var trailer: [UInt8] = []

  /// Removes the next part from the input. Returns `nil` if the whole input was read.
  ///
  /// - Throws: `HTTPError` with the code `ambiguousBody` if the framing is wrong.
  mutating func next(_ input: inout UnsafeRawBufferPointer) throws(HTTPError) -> Part? {
    var index = 0
    defer { input = UnsafeRawBufferPointer(rebasing: input[index...]) }
    while index < input.count {
      if state == .bytes {
        let count = min(remaining, input.count - index)
        let part = UnsafeRawBufferPointer(rebasing: input[index..<(index + count)])
        remaining -= count
        index += count
        if remaining == 0 { state = .carriageReturnOfBytes }
        return .bytes(part)
      }
      guard state != .ended else { throw BodyFraming.ambiguous("data after its last chunk") }
      let byte = input[index]
      index += 1
      if let line = try read(byte) { return .trailer(line) }
    }
    return nil
  }

  /// Reads a byte of the framing. Returns a trailer that has ended.
  private mutating func read(_ byte: UInt8) throws(HTTPError) -> [UInt8]? {
    switch (state, byte) {
    case (.size, _) where ASCII.isHexDigit(byte):
      digitCount += 1
      guard digitCount <= 15 else { throw BodyFraming.ambiguous("a chunk that is too large") }
      remaining = remaining << 4 | Int(Character(Unicode.Scalar(byte)).hexDigitValue!)
    case (.size, _) where digitCount == 0:
      throw BodyFraming.ambiguous("a chunk without a size")
    case (.size, UInt8(ascii: " ")), (.size, UInt8(ascii: "\t")): state = .blanks
    case (.blanks, UInt8(ascii: " ")), (.blanks, UInt8(ascii: "\t")): try countExtension()
    case (.size, UInt8(ascii: ";")), (.blanks, UInt8(ascii: ";")): state = .chunkExtension
    case (.size, UInt8(ascii: "\r")), (.blanks, UInt8(ascii: "\r")), (.chunkExtension, UInt8(ascii: "\r")):
      state = .lineFeedOfSize
    case (.size, _), (.blanks, _):
      throw BodyFraming.ambiguous("other text after the size of a chunk")
    case (.chunkExtension, UInt8(ascii: "\n")):
      throw BodyFraming.ambiguous("a bare line feed in the line of a chunk")
    case (.chunkExtension, _): try countExtension()
    case (.lineFeedOfSize, UInt8(ascii: "\n")):
      state = remaining == 0 ? .trailer : .bytes
      digitCount = 0
      extensionSize = 0
    case (.carriageReturnOfBytes, UInt8(ascii: "\r")): state = .lineFeedOfBytes
    case (.lineFeedOfBytes, UInt8(ascii: "\n")): state = .size
    case (.carriageReturnOfBytes, _), (.lineFeedOfBytes, _):
      throw BodyFraming.ambiguous("a chunk that is longer than its size")
    case (.lineFeedOfSize, _):
      throw BodyFraming.ambiguous("a bare carriage return in its framing")
    case (.trailer, UInt8(ascii: "\r")): state = .lineFeedOfTrailer
    case (.trailer, _):
      trailersSize += 1
      guard trailersSize <= ChunkedBody.limit else { throw BodyFraming.ambiguous("trailers that are too long") }
      trailer.append(byte)
    case (.lineFeedOfTrailer, _):
      guard byte == UInt8(ascii: "\n") else { throw BodyFraming.ambiguous("a bare carriage return in its trailers") }
      guard !trailer.isEmpty else {
        state = .ended
        return nil
      }
      state = .trailer
      defer { trailer = [] }
      return trailer
    case (.bytes, _), (.ended, _): preconditionFailure("\(#function) while \(state)")  // `next` handles both.
    }
    return nil
  }

  private mutating func countExtension() throws(HTTPError) {
    extensionSize += 1
    guard extensionSize <= ChunkedBody.limit else {
      throw BodyFraming.ambiguous("an extension of a chunk that is too long")
    }
  }
}
