import Foundation

extension HTTPResponse {
  /// The name under which the server suggests to save the body (RFC 6266), without directories.
  ///
  /// ```swift
  /// let name = response.suggestedFileName ?? "download"
  /// ```
  ///
  /// It comes from `filename*` (RFC 8187) or `filename` of `Content-Disposition`, otherwise from the last segment of the path. It
  /// has no directories, no control characters and direction marks, no dots or blanks at its ends, and at most 255 bytes in
  /// UTF-8. Its extension is what the server says: check it before you open the file.
  public var suggestedFileName: String? {
    let parameters = headers["Content-Disposition"].map { FieldParameters($0).parameters } ?? [:]
    let names = [parameters["filename*"].flatMap(FileName.decoded), parameters["filename"], lastSegment]
    return names.lazy.compactMap { $0.flatMap(FileName.safe) }.first
  }

  private var lastSegment: String? {
    let segment = request.url?.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
    return segment.flatMap { String(validating: ASCII.percentDecoded(Substring($0)), as: UTF8.self) }
  }
}

private enum FileName {
  /// Decodes the value of a parameter with an encoding and a language: `UTF-8'en'%e2%82%ac%20rates` (RFC 8187, section 3.2.1).
  static func decoded(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let bytes = ASCII.percentDecoded(parts[2])
    switch parts[0].lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    default: return nil
    }
  }

  /// Returns the last part of a path as the name of a file. `nil` if nothing is left.
  static func safe(_ name: String) -> String? {
    let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
    let visible = last.unicodeScalars.filter { !OneLine.isEscaped($0) || $0 == "\u{200D}" }
    let ends = CharacterSet.whitespacesAndNewlines.union(CharacterSet(charactersIn: "."))
    let trimmed = String(String.UnicodeScalarView(visible)).trimmingCharacters(in: ends)
    return trimmed.isEmpty ? nil : shortened(trimmed)
  }

  /// Shortens a name to 255 bytes, and keeps a short extension.
  private static func shortened(_ name: String) -> String {
    let limit = 255
    guard name.utf8.count > limit else { return name }
    let fileExtension = name.lastIndex(of: ".").map { String(name[$0...]) } ?? ""
    let kept = fileExtension.utf8.count <= 16 ? fileExtension : ""
    var stem = Substring(name.dropLast(kept.count))
    while stem.utf8.count + kept.utf8.count > limit { stem.removeLast() }
    return stem + kept
  }
}
