import FutureTree

extension HTTPResponse {
  /// The server-sent events of the body of this response, without reconnections. An event can have up to 1 MiB.
  ///
  /// ```swift
  /// let response = try await api.stream("answers", configure: { request in request.method = .post }).value
  /// for try await event in response.events { show(event.data) }
  /// ```
  ///
  /// `HTTPLoader.events` returns a sequence that reconnects.
  public var events: Events { Events(response: self) }

  /// A sequence of the server-sent events of one body (WHATWG HTML, section 9.2). `HTTPResponse.events` returns it.
  ///
  /// The status is not checked. If the content type is not `text/event-stream`, the iteration fails with the code
  /// `unacceptableContentType`. An event or a line of more than 1 MiB is an error with the code `eventTooLarge`. An incomplete
  /// event at the end of the body is discarded. The events of a stream have one reader, which is a consumer of the transfer,
  /// as for `Lines`.
  public struct Events: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent

    fileprivate let response: HTTPResponse

    /// Begins to read the events.
    public func makeAsyncIterator() -> Iterator {
      let parser = ServerSentEventParser(maximumEventSize: ServerSentEvents.defaultMaximumEventSize)
      let body = ParsedBody(response, parser)
      do { try response.checkIsEventStream() } catch { _ = body.fail(error) }
      return Iterator(body: body)
    }

    /// The reader of the events. If it is dropped before the end, it withdraws its interest in the transfer.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let body: ParsedBody<ServerSentEventParser>

      /// Returns the next event as soon as it is complete, or `nil` at the end of the body.
      ///
      /// - Throws: `HTTPError`; `FutureCancelled` if the transfer was cancelled; `CancellationError` if the task was
      ///   cancelled. Each later call throws the same error.
      public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> ServerSentEvent? {
        try await body.next()
      }
    }
  }
}

extension HTTPResponse.Events: CustomStringConvertible, CustomReflectable {
  /// The request, without the query and the events, which may be secrets.
  public var description: String { "events of \(response.request)" }

  public var customMirror: Mirror { Mirror(self, children: ["events": description], displayStyle: .struct) }
}

extension HTTPResponse {
  /// - Throws: `HTTPError` with the code `unacceptableContentType`.
  func checkIsEventStream() throws(HTTPError) {
    guard mediaType != "text/event-stream" else { return }
    throw HTTPError(
      .unacceptableContentType,
      "The response to \(request) is not a stream of events. \(contentTypeText). Check the URL, or the Content-Type that the "
        + "server sends: it must be text/event-stream.", response: self)
  }
}
