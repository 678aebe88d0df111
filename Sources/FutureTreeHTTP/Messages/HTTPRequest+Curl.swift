import Foundation

extension HTTPRequest {
  /// Returns the request as a `curl` command that can be pasted into a shell.
  ///
  /// ```swift
  /// request.curl()
  /// // curl --request 'POST' --header 'Authorization: REDACTED' --header 'Content-Type: application/json'
  /// //   --data-raw 'REDACTED (12 bytes)' 'https://example.com/comments'     (on one line)
  /// request.curl(redacting: .nothing)  // The same request, including secrets.
  /// ```
  ///
  /// Every POSIX shell interprets the command in the same way, because each value is one word in single quotes. The body
  /// is represented as follows:
  ///
  /// - A body of printable text is part of the command, with its line breaks.
  /// - Any other body in memory is written by `printf` into a pipe, so that the command contains neither NUL nor escape
  ///   sequences.
  /// - A file is read by `curl`.
  /// - A stream is not part of the command, which reads the bytes from standard input instead.
  ///
  /// Header fields that `URLSessionLoader` adds are not included, except the content type of the body. A request that has
  /// only a path is shown with the path alone: print it after the layer that fills in the host. ``init(curl:)`` reads the command.
  ///
  /// - Parameter redaction: The parts to show. For a hidden body, its size is shown if it is known.
  /// - Complexity: O(size of the shown parts).
  public func curl(redacting redaction: Redaction = .standard) -> String {
    var words = ["curl"]
    let data = curlData(redaction)
    switch method {
    case .get where body.isEmpty: break
    case .head where body.isEmpty: words.append("--head")
    default: words += ["--request", ShellText.quoted(method.name)]
    }
    for field in curlFields {
      let value = redaction.value(of: field, in: self)
      // A field without a value ends with `;`. With `:`, curl would remove a field of its own instead.
      words += ["--header", ShellText.quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")]
    }
    words += data.words
    let target = redaction.target(of: self)
    if target.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
    words += ["--url", ShellText.quoted(target)]
    return data.source + words.joined(separator: " ")
  }

  /// The header fields, and the content type of the body. An invalid content type is omitted, because no transport sends
  /// it.
  private var curlFields: HTTPHeaders {
    var fields = headers
    guard !headers.contains("Content-Type"), let type = body.contentType, (try? body.checkContentType()) != nil,
      let field = try? HTTPHeaders.Field("Content-Type", type)
    else { return fields }
    fields.add(field)
    return fields
  }

  /// Returns the arguments for the body, and the text in front of the command.
  private func curlData(_ redaction: Redaction) -> (source: String, words: [String]) {
    guard redaction.showsBodies else { return ("", body.curlSize) }
    switch body.content {
    case .empty:
      return ("", [])
    case .data(let data):
      if let text = String(data: data, encoding: .utf8), ShellText.isPrintable(text) {
        return ("", ["--data-raw", ShellText.quoted(text)])
      }
      return ("printf \(ShellText.printfFormat(data)) | ", ["--data-binary", "@-"])
    case .file(let url):
      return ("", ["--data-binary", ShellText.quoted("@" + HTTPRequest.curlPath(url))])
    case .stream:
      return ("", ["--data-binary", "@-"])
    }
  }

  /// Returns a path that `curl` does not read as the standard input or as an option. A path cannot contain NUL.
  private static func curlPath(_ url: URL) -> String {
    let path = url.path.replacing("\0", with: "%00")
    // Compares the byte, not the character: a combining mark after the slash would be part of the character.
    return path.utf8.first == UInt8(ascii: "/") ? path : "./" + path
  }
}

extension HTTPBody {
  /// The arguments for a hidden body.
  fileprivate var curlSize: [String] {
    if isEmpty { return [] }
    let size = contentLength.map { " (\($0) bytes)" } ?? ""
    return ["--data-raw", ShellText.quoted(Redaction.mark + size)]
  }
}
