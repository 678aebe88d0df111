import Foundation

/// A parser that receives the chunks of a body, and returns its elements.
protocol BodyParser: Sendable {
  associatedtype Element: Sendable

  mutating func receive(_ bytes: Data)

  /// Registers that the body is whole.
  mutating func finish()

  /// Returns the next element, or `nil` if it is incomplete.
  mutating func next() throws(HTTPError) -> Element?
}

extension LineSplitter: BodyParser {}

extension ServerSentEventParser: BodyParser {
  /// Has no effect: an incomplete event at the end of a stream is discarded.
  mutating func finish() {}
}

/// One iteration over the elements of a body.
///
/// # Invariants
/// 1. A chunk is read only if the chunks before it have no further element.
/// 2. After an error, and after the end, every call has the same result. The body is released then, so that the connection
///    of a stream is closed.
final class ParsedBody<Parser: BodyParser> {
  private(set) var parser: Parser
  private let request: HTTPRequest
  private var chunks: HTTPBodyStream.Iterator?
  private var failure: (any Error)?

  init(_ response: HTTPResponse, _ parser: Parser) {
    self.parser = parser
    request = response.request
    chunks = response.bodyStream.makeAsyncIterator()
  }

  /// Returns the next element, or `nil` at the end of the body.
  ///
  /// - Throws: The error of the parser, naming the request; the error of the transfer; `CancellationError` in a cancelled
  ///   task, also if elements have arrived.
  nonisolated(nonsending) func next() async throws -> Parser.Element? {
    if let failure { throw failure }
    do {
      while true {
        try Task.checkCancellation()
        if let element = try nextParsed() { return element }
        guard chunks != nil else { return nil }
        if let chunk = try await chunks?.next() {
          parser.receive(chunk)
        } else {
          parser.finish()
          chunks = nil
        }
      }
    } catch {
      throw fail(error)
    }
  }

  /// Ends the iteration with an error, and returns the error.
  func fail(_ error: any Error) -> any Error {
    chunks = nil
    failure = error
    return error
  }

  private func nextParsed() throws(HTTPError) -> Parser.Element? {
    do throws(HTTPError) { return try parser.next() } catch { throw error.naming(request) }
  }
}
