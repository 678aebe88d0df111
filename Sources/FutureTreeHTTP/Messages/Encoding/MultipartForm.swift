import Foundation

/// The encoded form of a multipart body: bytes in memory and files, in turn (RFC 2046, section 5.1, and RFC 7578).
struct MultipartForm {
  private enum Piece {
    case bytes(Data)
    case file(URL, size: Int, part: String)
  }

  private let boundary: String
  private var pieces: [Piece] = []
  private var length = 0

  /// - Throws: `HTTPError` with the code `unreadableBody`.
  init(_ parts: [HTTPBody.Part], boundary: String) throws(HTTPError) {
    self.boundary = boundary
    for part in parts {
      append("--\(boundary)\r\n\(MultipartForm.head(of: part))\r\n")
      switch part.content {
      case .data(let data): append(data)
      case .file(let url): try append(url, of: part)
      }
      append("\r\n")
    }
    append("--\(boundary)--\r\n")
  }

  /// Returns a boundary of 55 letters, digits and hyphens. It has 128 random bits, so that no content can contain it on
  /// purpose.
  static func boundary(using generator: inout some RandomNumberGenerator) -> String {
    let words = [UInt64.random(in: 0...UInt64.max, using: &generator), .random(in: 0...UInt64.max, using: &generator)]
    return "FutureTreeFormBoundary-" + words.map { MultipartForm.hexadecimal($0) }.joined()
  }

  /// The body: in memory if it has no files, otherwise a stream.
  var body: HTTPBody {
    let contentType = "multipart/form-data; boundary=\(boundary)"
    if case .bytes(let data)? = pieces.first, pieces.count == 1 { return .data(data, contentType: contentType) }
    let openers = pieces.map(MultipartForm.opener)
    return .stream(length: length, contentType: contentType) { HTTPBodyReader(concatenating: openers) }
  }

  private mutating func append(_ text: String) {
    append(Data(text.utf8))
  }

  private mutating func append(_ data: Data) {
    length += data.count
    guard case .bytes(var bytes)? = pieces.last else { return pieces.append(.bytes(data)) }
    pieces.removeLast()  // The array releases `bytes`, so that the next line appends in place.
    bytes.append(data)
    pieces.append(.bytes(bytes))
  }

  private mutating func append(_ url: URL, of part: HTTPBody.Part) throws(HTTPError) {
    let size = try OpenFile(url).size
    let (sum, hasOverflowed) = length.addingReportingOverflow(size)
    guard !hasOverflowed, sum < Int.max / 2 else {
      throw HTTPError(
        .unreadableBody,
        "The files of the form are too large. Their total size exceeds the largest integer. Send fewer files.")
    }
    length = sum
    pieces.append(.file(url, size: size, part: FieldSyntax.visible(part.name)))
  }

  private static func opener(of piece: Piece) -> @Sendable () throws -> HTTPBodyReader {
    switch piece {
    case .bytes(let data): { HTTPBodyReader(data) }
    case .file(let url, let size, let part):
      { HTTPBodyReader(try OpenFile(url).reader(), length: size, name: "The file of the part \(part)") }
    }
  }

  private static func head(of part: HTTPBody.Part) -> String {
    var head = "Content-Disposition: form-data; name=\"\(quotable(part.name))\""
    if let fileName = part.fileName { head += "; filename=\"\(quotable(fileName))\"" }
    head += "\r\n"
    if let contentType = part.contentType { head += "Content-Type: \(contentType)\r\n" }
    return head
  }

  /// Percent-encodes quotes, backslashes and control bytes, so that the text can stand between quotes.
  private static func quotable(_ text: String) -> String {
    ASCII.percentEncoded(text) { $0 != 0x22 && $0 != 0x5C && $0 >= 0x20 && $0 != 0x7F }
  }

  private static func hexadecimal(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
