#if os(Linux)
  internal import CCodings
  import Foundation

  /// A decoder of an encoded body (RFC 9110, section 8.4.1) over the libraries of the system.
  ///
  /// libcurl and the platform's `URLSession` lack two of its checks: the encoded data must end, and nothing may follow its end. A
  /// body that ends inside its encoded data is truncated, although its framing is whole. The decoded size is limited in relation to
  /// the encoded size, against data that is made to fill the memory.
  ///
  /// It is used on one thread at a time.
  final class BodyDecoder {
    /// The codings in the order in which requests ask for them.
    static let codings: [String] = [
      ("gzip", CDecoderGzip), ("deflate", CDecoderZlib), ("br", CDecoderBrotli), ("zstd", CDecoderZstandard),
    ].filter { cdecoder_is_available($0.1) }.map(\.0)

    /// The names of `codings` in a response, in lower case.
    static let accepted = Set(codings + (codings.contains("gzip") ? ["x-gzip"] : []))

    /// No deflate data has a larger ratio of decoded to encoded bytes than 1,032.
    static let largestRatio = 1_100
    /// The decoded size up to which the ratio is not limited, in bytes.
    static let unlimitedSize = 1 << 20

    private static let largestCount = 3

    /// The stages in the order of decoding: the last coding of a response was applied last.
    private var stages: [Stage]
    private var encodedCount = 0
    private var decodedCount = 0

    /// Creates a decoder of the codings of a response, or returns `nil` if there are none.
    ///
    /// - Parameter codings: Names of `accepted`, in the order of the response.
    /// - Throws: `HTTPError` with the code `encodedBody` if a body was encoded more often than any server does, or if there is no
    ///   memory.
    init?(_ codings: [String]) throws(HTTPError) {
      guard !codings.isEmpty else { return nil }
      guard codings.count <= BodyDecoder.largestCount else {
        throw HTTPError(.encodedBody, "The body was encoded \(codings.count) times. Fix the server.")
      }
      stages = codings.reversed().map { Stage($0) }
    }

    /// Stores encoded bytes for `resume`.
    func store(_ bytes: UnsafeRawBufferPointer) {
      encodedCount += bytes.count
      stages[0].input.append(contentsOf: bytes)
    }

    /// Decodes the stored bytes, and passes the decoded bytes on in pieces of at most 64 KiB.
    ///
    /// - Parameter receive: Receives a piece, and returns whether it accepts more. If it does not, the rest is kept.
    /// - Throws: `HTTPError` with the code `encodedBody` or `bodyTooLarge`.
    func resume(_ receive: (Data) -> Bool) throws(HTTPError) {
      // From the last stage: its output goes first, so that no stage stores more than one piece.
      var index = stages.count - 1
      while index >= 0 {
        let piece = try stages[index].next()
        guard !piece.isEmpty else {
          index -= 1
          continue
        }
        guard index == stages.count - 1 else {
          stages[index + 1].input.append(piece)
          index = stages.count - 1
          continue
        }
        decodedCount += piece.count
        guard decodedCount <= max(BodyDecoder.unlimitedSize, encodedCount * BodyDecoder.largestRatio) else {
          throw HTTPError(
            .bodyTooLarge,
            "The body is encoded with more than \(BodyDecoder.largestRatio) bytes for each byte that was sent. Fix the server, or "
              + "request the encoding `identity`.")
        }
        if !receive(piece) { return }
      }
    }

    /// Whether bytes are left that `resume` decodes.
    var hasRest: Bool { stages.contains { $0.hasRest } }

    /// Checks that the encoded data has ended. A body of no bytes is complete, as servers send it for empty resources.
    ///
    /// - Throws: `HTTPError` with the code `truncatedBody`.
    func finish() throws(HTTPError) {
      guard encodedCount > 0, let open = stages.first(where: { !$0.isComplete }) else { return }
      throw HTTPError(
        .truncatedBody,
        "The body ended inside its \(open.name) data, after \(encodedCount) bytes. Load again, or request the encoding `identity`."
      )
    }
  }

  /// One coding of a body.
  private struct Stage {
    let name: String
    var input = Data()
    private var decoder: Decoder?
    /// Whether the data has ended, so that only another member of gzip or frame of zstd can follow.
    private var hasEnded = false
    /// Whether the last output was full, so that the decoder can have more.
    private var isFull = false

    init(_ name: String) { self.name = name }

    var isComplete: Bool { hasEnded && input.isEmpty }
    var hasRest: Bool { !input.isEmpty || isFull }

    /// Returns the next decoded bytes. Returns none if more input is needed.
    mutating func next() throws(HTTPError) -> Data {
      while hasRest {
        if hasEnded {
          // gzip and zstd can have several members (RFC 1952, section 2.2; RFC 8878, section 3.1).
          guard ["gzip", "x-gzip", "zstd"].contains(name) else {
            throw fault("has data after the end of its \(name) data")
          }
          (decoder, hasEnded) = (nil, false)
        }
        guard let decoder = try opened() else { return Data() }
        let (state, read, decoded) = input.withUnsafeBytes { decoder.decode($0) }
        input = input.count == read ? Data() : input.dropFirst(read)
        isFull = decoded.count == Decoder.outputSize
        switch state {
        case CCodingFailed: throw fault("is invalid \(name) data")
        case CCodingEnded: (hasEnded, isFull) = (true, false)
        default: break
        }
        if !decoded.isEmpty || read == 0 { return decoded }
      }
      return Data()
    }

    /// Returns the decoder. The first bytes decide whether `deflate` has the wrapper that it should have.
    private mutating func opened() throws(HTTPError) -> Decoder? {
      if let decoder { return decoder }
      let kind: CDecoderKind
      switch name {
      case "gzip", "x-gzip": kind = CDecoderGzip
      case "br": kind = CDecoderBrotli
      case "zstd": kind = CDecoderZstandard
      default:
        guard input.count >= 2 else { return nil }
        let (first, second) = (Int(input[input.startIndex]), Int(input[input.startIndex + 1]))
        kind = first & 0x0F == 8 && (first << 8 | second) % 31 == 0 ? CDecoderZlib : CDecoderDeflate
      }
      guard let created = Decoder(kind) else { throw fault("cannot be decoded without memory") }
      decoder = created
      return created
    }

    private func fault(_ text: String) -> HTTPError {
      HTTPError(.encodedBody, "The body \(text). Fix the server, or request the encoding `identity`.")
    }
  }

  /// A decoder of CCodings, with the memory for its output.
  private final class Decoder {
    static let outputSize = 1 << 16

    private let pointer: OpaquePointer
    private let output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Decoder.outputSize)

    init?(_ kind: CDecoderKind) {
      guard let pointer = cdecoder_create(kind) else {
        output.deallocate()
        return nil
      }
      self.pointer = pointer
    }

    deinit {
      cdecoder_destroy(pointer)
      output.deallocate()
    }

    func decode(_ input: UnsafeRawBufferPointer) -> (CCodingState, read: Int, decoded: Data) {
      var (unread, unwritten) = (input.count, output.count)
      let state = cdecoder_decode(
        pointer, input.bindMemory(to: UInt8.self).baseAddress, &unread, output.baseAddress, &unwritten)
      return (state, input.count - unread, Data(output.prefix(output.count - unwritten)))
    }
  }
#endif
