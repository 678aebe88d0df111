import Foundation

extension HTTPRequest {
  /// The request as a command for `curl`, to be pasted into a shell.
  ///
  /// ```swift
  /// request.curl()
  /// // curl --request 'POST' --header 'Authorization: REDACTED' --header 'Content-Type: application/json'
  /// //   --data-raw 'REDACTED (12 bytes)' 'https://example.com/comments'     (on one line)
  /// request.curl(redacting: .nothing)  // What loads the same, secrets included.
  /// ```
  ///
  /// Every shell of POSIX reads it alike: each value is one word in single quotes. A body of printable text stands in the
  /// command, with its line breaks; any other is written by `printf` into a pipe, so that neither NUL nor escape sequences
  /// are in the command. A file is read by `curl`. A stream can be read only by its sender: the command takes its bytes from
  /// the standard input.
  ///
  /// What `URLSessionLoader` adds by itself is not in it, but for the type of the body. A request that has only a path is
  /// shown with that alone: print it behind the layer that fills in the host.
  ///
  /// - Parameter redaction: what is shown. Of a body that is not shown the size is, if it is known.
  /// - Complexity: O(size of what is shown).
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
      // A field without a value ends with `;`: with `:`, curl would leave out a field of its own.
      words += ["--header", ShellText.quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")]
    }
    words += data.words
    let target = redaction.target(of: self)
    if target.contains(where: { "[]{}".contains($0) }) { words.append("--globoff") }
    words += ["--url", ShellText.quoted(target)]
    return data.source + words.joined(separator: " ")
  }

  /// The header fields, and the type of the body; not one that is no media type, which no transport sends.
  private var curlFields: HTTPHeaders {
    var fields = headers
    guard !headers.contains("Content-Type"), let type = body.contentType, (try? body.checkContentType()) != nil,
      let field = try? HTTPHeaders.Field("Content-Type", type)
    else { return fields }
    fields.add(field)
    return fields
  }

  /// The words for the body, and what stands before the command.
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

  /// A path that is not mistaken for the standard input, or for an option. No path has a NUL.
  private static func curlPath(_ url: URL) -> String {
    let path = url.path.replacing("\0", with: "%00")
    // A byte, and not a character: a mark that follows would be part of that.
    return path.utf8.first == UInt8(ascii: "/") ? path : "./" + path
  }
}

extension HTTPBody {
  /// A body that is not shown.
  fileprivate var curlSize: [String] {
    if isEmpty { return [] }
    let size = contentLength.map { " (\($0) bytes)" } ?? ""
    return ["--data-raw", ShellText.quoted(Redaction.mark + size)]
  }
}
