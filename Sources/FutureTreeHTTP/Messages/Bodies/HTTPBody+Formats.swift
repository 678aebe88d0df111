import Foundation

extension HTTPBody {
  /// Returns a body with a value encoded as JSON, of the type `application/json`.
  ///
  /// ```swift
  /// request.body = try .json(comment)
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - encoder: The encoder, which defines the format of keys, dates and data.
  /// - Throws: `HTTPError` with the code `unencodableBody`. Its message names the position inside the value, not the
  ///   content.
  /// - Complexity: O(size of the value). The value is encoded immediately, on the calling thread.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(HTTPError) -> HTTPBody {
    do {
      return .data(try encoder.encode(value), contentType: "application/json")
    } catch EncodingError.invalidValue(let part, let context) {
      throw HTTPError(
        .unencodableBody,
        "A value of the type \(type(of: part)) cannot be encoded as JSON, at \(CodingPath(keys: context.codingPath)) of "
          + "a value of the type \(type(of: value)). Change it, or set a strategy of the encoder.",
        underlying: EncodingError.invalidValue(part, context))
    } catch {
      throw HTTPError(
        .unencodableBody, "A value of the type \(type(of: value)) could not be encoded. See `underlying`.",
        underlying: error)
    }
  }
}

extension HTTPBody {
  /// Returns a body with the fields of a form, in order, of the type `application/x-www-form-urlencoded`.
  ///
  /// ```swift
  /// request.body = .form([("name", "Ada Lovelace"), ("tag", "a&b")])  // name=Ada+Lovelace&tag=a%26b
  /// ```
  ///
  /// Fields are encoded as browsers encode them (WHATWG URL, section 5.2). Letters, digits, `*`, `-`, `.` and `_` stay as
  /// they are. A space becomes `+`. Every other byte of the UTF-8 text is percent-encoded. A name can occur more than
  /// once.
  public static func form(_ fields: [(String, String)]) -> HTTPBody {
    let text = fields.map { formEncoded($0.0) + "=" + formEncoded($0.1) }.joined(separator: "&")
    return .data(Data(text.utf8), contentType: "application/x-www-form-urlencoded")
  }

  package static func formEncoded(_ text: String) -> String {
    let encoded = ASCII.percentEncoded(text) { byte in
      ASCII.isLetter(byte) || ASCII.isDigit(byte) || "*-._ ".utf8.contains(byte)
    }
    return String(decoding: encoded.utf8.map { $0 == 0x20 ? 0x2B : $0 }, as: UTF8.self)
  }
}

extension HTTPBody {
  /// One part of a multipart form: the name of a field, and its content.
  public struct Part: Sendable {
    enum Content: Sendable {
      case data(Data)
      case file(URL)
    }

    let name: String
    let fileName: String?
    let contentType: String?
    let content: Content

    /// Returns a part with text, encoded as UTF-8.
    public static func text(_ name: String, _ value: String) -> Part {
      Part(name: name, fileName: nil, contentType: nil, content: .data(Data(value.utf8)))
    }

    /// Returns a part with bytes in memory. If the part has a file name, servers treat it as a file.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeaderValue` if the content type is not a media type.
    public static func data(
      _ name: String, _ data: Data, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) throws(HTTPError) -> Part {
      try check(contentType, name)
      return Part(name: name, fileName: fileName, contentType: contentType, content: .data(data))
    }

    /// Returns a part with all bytes of a file. The file is read from disk while the body is sent.
    ///
    /// The file name defaults to the last path component of the URL.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeaderValue` if the content type is not a media type.
    public static func file(
      _ name: String, _ url: URL, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) throws(HTTPError) -> Part {
      try check(contentType, name)
      return Part(
        name: name, fileName: fileName ?? url.lastPathComponent, contentType: contentType, content: .file(url))
    }

    private static func check(_ contentType: String, _ name: String) throws(HTTPError) {
      guard let fault = FieldSyntax.fault(inMediaType: contentType) else { return }
      throw HTTPError(
        .invalidHeaderValue,
        "The content type of the part \(FieldSyntax.visible(name)) \(fault). Write a type like image/png.")
    }
  }

  /// Returns a body with a multipart form (`multipart/form-data`, RFC 7578).
  ///
  /// ```swift
  /// request.body = try .multipart([
  ///   .text("title", "Holiday"), .file("photo", photoURL, contentType: "image/jpeg"),
  /// ])
  /// ```
  ///
  /// Files are never loaded into memory as a whole. The sizes of the files are read when the body is created, so that
  /// `contentLength` is known. If the size of a file changes before it is sent, the request fails with the code
  /// `wrongBodyLength`. The body can be sent again while the files are unchanged. A form without files is built in
  /// memory. Each body has a new random boundary, which cannot be guessed. `URLSession` on Linux sends a streamed body in
  /// chunks, without its length.
  ///
  /// In the names of parts and files, quotes and line breaks are percent-encoded, as browsers do. Backslashes and other
  /// control bytes are percent-encoded too, because some servers interpret them.
  ///
  /// - Throws: `HTTPError` with the code `unreadableBody` if a file is missing or is not a regular file.
  /// - Complexity: One attribute lookup and one open for each file, and one copy of the content in memory.
  public static func multipart(_ parts: [Part]) throws(HTTPError) -> HTTPBody {
    var generator = SystemRandomNumberGenerator()
    return try multipart(parts, using: &generator)
  }

  /// Returns a multipart form whose boundary comes from `generator`, for tests. With a boundary that can be guessed, the
  /// content of a file can forge further parts.
  public static func multipart(
    _ parts: [Part], using generator: inout some RandomNumberGenerator
  ) throws(HTTPError) -> HTTPBody {
    let boundary = MultipartForm.boundary(using: &generator)
    return try MultipartForm(parts, boundary: boundary).body
  }
}

extension HTTPBody.Part: CustomStringConvertible, CustomReflectable {
  /// The name and the content type, without the content and the file name.
  public var description: String { FieldSyntax.visible(name) + (contentType.map { " of \($0)" } ?? "") }

  public var customMirror: Mirror { Mirror(self, children: ["part": description], displayStyle: .struct) }
}

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
