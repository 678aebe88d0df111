import Foundation

extension HTTPResponse {
  /// The lines of the body, as text. A line can have up to 1 MiB: `lines(limit:)` sets another limit.
  ///
  /// ```swift
  /// for try await line in try await api.stream("log").value.lines { print(line) }
  /// ```
  public var lines: Lines { lines(limit: Lines.defaultLimit) }

  /// Returns the lines of the body, as text, regardless of the status.
  ///
  /// ```swift
  /// for try await line in response.lines(limit: 4 << 10) { print(line) }
  /// ```
  ///
  /// - Parameter limit: The maximum number of bytes of a line, without its end. A longer line is an error with the code
  ///   `lineTooLong`. Values below 0 are treated as 0.
  public func lines(limit: Int) -> Lines { Lines(response: self, limit: limit) }

  /// A sequence of the lines of a body. `HTTPResponse.lines` returns it.
  ///
  /// **Lines.** A line ends with LF or CRLF. A CR without a following LF is part of its line. Empty lines are elements. The
  /// bytes after the last line end are a line if there are any. A byte order mark at the beginning is removed.
  ///
  /// **Bodies.** The lines of a stream are returned while it arrives, to one reader: see `HTTPBodyStream`. The lines of a
  /// body in memory or in a file can be read any number of times.
  ///
  /// **Errors.** The lines before an error are returned first. The error ends the iteration: `lineTooLong` for a line longer
  /// than the limit, `undecodableBody` for a line that is not UTF-8, and the errors of `HTTPBodyStream`. The errors name the
  /// request, and the number of the line. An incomplete line before an error of the transfer is discarded.
  ///
  /// **Cancellation.** If the loop is left, if an error ends it, or if its task is cancelled, the reader withdraws its interest
  /// in the transfer of a stream, which closes the connection unless the transfer has other consumers.
  ///
  /// **Memory.** An iteration holds one chunk, and the beginning of one line. No chunk is read before the lines of the chunk
  /// before it were returned.
  public struct Lines: AsyncSequence, Sendable {
    public typealias Element = String

    /// The default limit of a line: 1 MiB, in bytes.
    public static let defaultLimit = 1 << 20

    fileprivate let response: HTTPResponse
    fileprivate let limit: Int

    /// Begins to read the lines.
    public func makeAsyncIterator() -> Iterator {
      Iterator(body: ParsedBody(response, LineSplitter(limit: limit)))
    }

    /// The reader of the lines. If it is dropped before the end, it withdraws its interest in the transfer.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let body: ParsedBody<LineSplitter>

      /// Returns the next line without its end, as soon as its end arrives. Returns `nil` at the end of the body.
      ///
      /// - Throws: `HTTPError`; `FutureCancelled` if the transfer was cancelled; `CancellationError` if the task was
      ///   cancelled. Each later call throws the same error.
      public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> String? {
        try await body.next()
      }
    }
  }
}

extension HTTPResponse.Lines: CustomStringConvertible, CustomReflectable {
  /// The request, without the query and the lines, which may be secrets.
  public var description: String { "lines of \(response.request)" }

  public var customMirror: Mirror { Mirror(self, children: ["lines": description], displayStyle: .struct) }
}
