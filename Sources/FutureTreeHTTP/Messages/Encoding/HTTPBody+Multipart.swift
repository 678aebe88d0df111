import Foundation

extension HTTPBody {
  /// One part of a form with files: a field and what was put into it.
  public struct Part: Sendable {
    enum Content: Sendable {
      case data(Data)
      case file(URL)
    }

    let name: String
    let fileName: String?
    let contentType: String?
    let content: Content

    /// A text, in UTF-8.
    public static func text(_ name: String, _ value: String) -> Part {
      Part(name: name, fileName: nil, contentType: nil, content: .data(Data(value.utf8)))
    }

    /// Bytes in memory; with a file name, servers take them for a file.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeaderValue` if the content type is no media type.
    public static func data(
      _ name: String, _ data: Data, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) throws(HTTPError) -> Part {
      try check(contentType, name)
      return Part(name: name, fileName: fileName, contentType: contentType, content: .data(data))
    }

    /// All bytes of a file, which is read from disk while it is sent; by default under its own name.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeaderValue` if the content type is no media type.
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
        "The content type of the part \(FieldSyntax.visible(name)) \(fault). Write it like image/png.")
    }
  }

  /// A form with files (`multipart/form-data`, RFC 7578).
  ///
  /// ```swift
  /// request.body = try .multipart([
  ///   .text("title", "Holiday"), .file("photo", photoURL, contentType: "image/jpeg"),
  /// ])
  /// ```
  ///
  /// Files are never loaded whole. Their sizes are taken now, so that `contentLength` is known; a file that has another
  /// size when it is sent fails the request with the code `wrongBodyLength`, and the body can be sent again while the files
  /// stay as they are. A form without files is put together in memory. The boundary is new for each body, and cannot be
  /// guessed. `URLSession` on Linux sends what is streamed in chunks, without its length.
  ///
  /// In the names of parts and files, quotes and line breaks are percent-encoded, as browsers do; so are backslashes and
  /// other control bytes, which some servers take for more than they are.
  ///
  /// - Throws: `HTTPError` with the code `unreadableBody` if a file is missing, or is no plain file.
  /// - Complexity: one look at each file, and one copy of what is in memory.
  public static func multipart(_ parts: [Part]) throws(HTTPError) -> HTTPBody {
    var generator = SystemRandomNumberGenerator()
    return try multipart(parts, using: &generator)
  }

  /// The same with a boundary from a generator, for tests: one that can be guessed lets a file forge further parts.
  public static func multipart(
    _ parts: [Part], using generator: inout some RandomNumberGenerator
  ) throws(HTTPError) -> HTTPBody {
    let boundary = MultipartForm.boundary(using: &generator)
    return try MultipartForm(parts, boundary: boundary).body
  }
}

extension HTTPBody.Part: CustomStringConvertible, CustomReflectable {
  /// The name and the type, without what is in it and the name of a file.
  public var description: String { FieldSyntax.visible(name) + (contentType.map { " of \($0)" } ?? "") }

  public var customMirror: Mirror { Mirror(self, children: ["part": description], displayStyle: .struct) }
}
