import FutureTree

extension HTTPLoader {
  /// Returns the server-sent events of a resource, and reconnects when a connection ends.
  ///
  /// ```swift
  /// let prices = api.events("prices", query: ["symbol": "ABC"])
  /// for try await event in prices where event.type == "price" {
  ///   show(try JSONDecoder().decode(Price.self, from: Data(event.data.utf8)))
  /// }
  /// ```
  ///
  /// `ServerSentEvents` describes the connections, the errors and the cancellation. Nothing is loaded before the first call of
  /// `next` of the iterator. To continue the events of an earlier run, set the header `Last-Event-ID` with `configure`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded.
  ///   - reconnection: The delays between connections, and their number.
  ///   - maximumEventSize: The maximum number of bytes of an event. A larger one ends the sequence with the code
  ///     `eventTooLarge`. Defaults to 1 MiB. Values below 1 are treated as 1.
  ///   - clock: The clock that measures delays.
  ///   - random: The source of the jitter.
  ///   - configure: A closure that changes the request before it is loaded, for example its header fields or options. It is
  ///     called once, before this method returns.
  /// - Returns: A sequence of the events. It fails if the request cannot be built.
  public func events(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [],
    reconnecting reconnection: EventReconnection = .default,
    maximumEventSize: Int = ServerSentEvents.defaultMaximumEventSize, clock: any FutureClock = .system,
    random: RandomSource = .system, configure: Configure = { _ in }
  ) -> ServerSentEvents {
    events(reconnecting: reconnection, maximumEventSize: maximumEventSize, clock: clock, random: random) {
      var request = try HTTPRequest(.get, to: endpoint, query: query)
      try configure(&request)
      return request
    }
  }

  /// Returns the server-sent events of the request that a closure builds, and reconnects when a connection ends.
  ///
  /// ```swift
  /// let answer = api.events {
  ///   var request = try HTTPRequest(.post, to: "answers")
  ///   request.body = try .json(question)
  ///   return request
  /// }
  /// for try await event in answer { show(event.data) }
  /// ```
  ///
  /// - Parameters:
  ///   - reconnection: The delays between connections, and their number.
  ///   - maximumEventSize: The maximum number of bytes of an event. Defaults to 1 MiB. Values below 1 are treated as 1.
  ///   - clock: The clock that measures delays.
  ///   - random: The source of the jitter.
  ///   - makeRequest: The closure that builds the request. It is called once, before this method returns. Its error becomes
  ///     the failure of the sequence.
  public func events(
    reconnecting reconnection: EventReconnection = .default,
    maximumEventSize: Int = ServerSentEvents.defaultMaximumEventSize, clock: any FutureClock = .system,
    random: RandomSource = .system, _ makeRequest: () throws -> HTTPRequest
  ) -> ServerSentEvents {
    do {
      let request = try makeRequest().acceptingEvents
      let source = EventSource(
        loader: self, request: request, reconnection: reconnection, maximumEventSize: maximumEventSize, clock: clock,
        random: random)
      return ServerSentEvents(.success(source))
    } catch {
      return ServerSentEvents(.failure(error))
    }
  }
}

extension HTTPRequest {
  /// Returns the request with the fields and the delivery of a request for events, unless it has its own. No cache answers it.
  package var acceptingEvents: HTTPRequest {
    var request = self
    request.addMissing(EventSource.fields)
    request.caching = .off
    if !request.delivery.isStream { request.delivery = .stream() }
    return request
  }
}
