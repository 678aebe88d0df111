import Foundation

extension HTTPResponse {
  /// Returns the values of a body with one JSON value a line (`application/x-ndjson`, `application/jsonl`), regardless of the
  /// status.
  ///
  /// ```swift
  /// let response = try await api.stream("readings").value
  /// for try await reading in response.jsonLines(of: Reading.self) { show(reading) }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of the values.
  ///   - decoder: The decoder, which defines the format of keys, dates and data.
  ///   - limit: The maximum number of bytes of a line, as for `lines(limit:)`. Defaults to 1 MiB.
  public func jsonLines<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder(), limit: Int = Lines.defaultLimit
  ) -> JSONLines<Value> {
    JSONLines(response: self, decoder: decoder, limit: limit)
  }

  /// A sequence of the values of a body with one JSON value a line. `HTTPResponse.jsonLines(of:)` returns it.
  ///
  /// Lines that are empty or consist of spaces and tabs are skipped. The lines, their errors and their cancellation are those
  /// of `Lines`. A line that cannot be decoded ends the iteration with the code `undecodableBody`. The message has the number
  /// of the line, positions and types, never values. A line is decoded when the reader asks for its value.
  public struct JSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    fileprivate let response: HTTPResponse
    fileprivate let decoder: JSONDecoder
    fileprivate let limit: Int

    /// Begins to read the values.
    public func makeAsyncIterator() -> Iterator {
      Iterator(values: JSONLineReader(response, decoder, limit: limit))
    }

    /// The reader of the values. If it is dropped before the end, it withdraws its interest in the transfer.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let values: JSONLineReader<Value>

      /// Returns the next value, as soon as the end of its line arrives. Returns `nil` at the end of the body.
      ///
      /// - Throws: `HTTPError`; `FutureCancelled` if the transfer was cancelled; `CancellationError` if the task was
      ///   cancelled. Each later call throws the same error.
      public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Value? {
        try await values.next()
      }
    }
  }
}

extension HTTPResponse.JSONLines: CustomStringConvertible, CustomReflectable {
  /// The type and the request, without the query and the values, which may be secrets.
  public var description: String { "JSON lines of \(Value.self) of \(response.request)" }

  public var customMirror: Mirror { Mirror(self, children: ["lines": description], displayStyle: .struct) }
}

/// One iteration over the values of a body.
private final class JSONLineReader<Value: Decodable & Sendable> {
  private let response: HTTPResponse
  private let decoder: JSONDecoder
  private let lines: ParsedBody<LineSplitter>
  /// The number of lines that were read, including the skipped ones.
  private var count = 0

  init(_ response: HTTPResponse, _ decoder: JSONDecoder, limit: Int) {
    self.response = response
    self.decoder = decoder
    lines = ParsedBody(response, LineSplitter(limit: limit))
  }

  nonisolated(nonsending) func next() async throws -> Value? {
    while let line = try await lines.next() {
      count += 1
      guard !line.utf8.allSatisfy({ FieldSyntax.isBlank($0) || $0 == ByteLines.carriageReturn }) else { continue }
      let bytes = Data(line.utf8)
      do {
        return try decoder.decode(Value.self, from: bytes)
      } catch {
        throw lines.fail(undecodable(bytes, error))
      }
    }
    return nil
  }

  private func undecodable(_ line: Data, _ error: any Error) -> HTTPError {
    let fault = DecodingFault(error, in: line, named: "the line", of: response)
    return HTTPError(
      .undecodableBody,
      "Line \(count) of the response to \(response.request) cannot be decoded as \(Value.self): \(fault). Compare the line "
        + "with the type.", underlying: error)
  }
}
