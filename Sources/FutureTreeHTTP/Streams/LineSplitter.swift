import Foundation

/// Splits the bytes of a body into lines of text. A pure value: it reads nothing.
///
/// ```
/// var splitter = LineSplitter(limit: 65_536)
/// splitter.receive(Data("one\ntwo\r\nthr".utf8))
/// while let line = try splitter.next() { print(line) }  // one, two
/// splitter.receive(Data("ee".utf8))
/// splitter.finish()
/// while let line = try splitter.next() { print(line) }  // three
/// ```
///
/// - A line ends with LF or CRLF. A CR without a following LF is part of its line.
/// - Empty lines are returned. The bytes after the last line end are a line if there are any.
/// - A byte order mark at the beginning is removed. RFC 8259, section 8.1, permits this for JSON; the UTF-8 decoder of the
///   Encoding standard does the same.
/// - The lines, and the error, do not depend on how the bytes are divided into chunks.
struct LineSplitter: Sendable {
  private let limit: Int
  private var lines: ByteLines
  /// The number of lines that were returned.
  private var count = 0
  private var failure: HTTPError?

  /// - Parameter limit: The largest number of bytes of a line, without its end. Values below 0 are treated as 0.
  init(limit: Int) {
    self.limit = max(0, limit)
    lines = ByteLines(ending: .lineFeed, limit: self.limit)
  }

  /// Receives the next bytes. To keep little in memory, call `next()` until it returns `nil` first.
  ///
  /// - Complexity: O(n) in the number of bytes, amortized.
  mutating func receive(_ bytes: Data) {
    lines.receive(bytes)
  }

  /// Ends the last line. Call it only if the body is whole.
  mutating func finish() {
    lines.finish()
  }

  /// Returns the next line without its end, or `nil` if no complete line was received.
  ///
  /// - Throws: `HTTPError` with the code `lineTooLong`, or with `undecodableBody` if the line is not UTF-8. The lines before
  ///   it are returned first. Each later call throws the same error.
  /// - Complexity: O(n) in the number of bytes that were not yet examined, up to the end of the line.
  mutating func next() throws(HTTPError) -> String? {
    if let failure { throw failure }
    do throws(HTTPError) {
      return try nextLine()
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func nextLine() throws(HTTPError) -> String? {
    let bytes: [UInt8]?
    do throws(ByteLines.TooLong) {
      bytes = try lines.next()
    } catch {
      throw HTTPError(
        .lineTooLong,
        "Line \(count + 1) of the body has more bytes than the limit of \(limit). Raise the limit, or check whether the "
          + "body consists of lines.")
    }
    guard let bytes else { return nil }
    guard let line = String(validating: bytes, as: UTF8.self) else {
      throw HTTPError(
        .undecodableBody,
        "Line \(count + 1) of the body is not UTF-8. Read the bytes of the body if it has another encoding.")
    }
    count += 1
    return line
  }
}
