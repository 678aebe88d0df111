import Foundation

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
