import Foundation
import FutureTree

extension HTTPLoader {
  /// Downloads a resource into a file with `GET`.
  ///
  /// ```swift
  /// let film = api.download("films/\(id)", to: file) { progress in log(progress.received.fraction ?? 0) }
  /// ```
  ///
  /// The file appears under its name when the future succeeds, and replaces an existing file. If the load fails or is
  /// cancelled, no file is left behind (see `ResponseDelivery.file`). To continue downloads, use the layer `Resume`. If the
  /// status is not in 200 to 299, or the status has no body, the future fails with the code `unacceptableStatus`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded.
  ///   - file: A file URL in an existing directory.
  ///   - maximumSize: The maximum size in bytes. A longer body fails with the code `bodyTooLarge`. Defaults to 1 GiB.
  ///     `nil` disables the limit.
  ///   - onProgress: A closure that is called after each piece of the body, one call at a time, on the queue of the
  ///     transport. The rules of `ProgressHandler` apply.
  ///   - configure: A closure that changes the request before it is loaded. It is called once, before this method
  ///     returns.
  /// - Returns: A future of the response, whose `content` is the file.
  @discardableResult
  public func download(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], to file: URL,
    maximumSize: Int? = ResponseDelivery.defaultMaximumFileSize,
    onProgress: (@Sendable (HTTPProgress) -> Void)? = nil, configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    var pending: PendingFile?
    let response = send(.get, endpoint, query, reportsProgress: onProgress != nil) { request in
      request.delivery = .file(file, maximumSize: maximumSize)
      request[option: ProgressHandler.self] = onProgress
      try configure(&request)
      pending = PendingFile.replaceFile(of: &request)
    }.map { response in
      guard case .file = response.content else { throw HTTPError(notDownloaded: response) }
      return response
    }
    return pending.map(response.committing) ?? response
  }

  /// Downloads a resource into a file with `GET`, and reports progress on the main actor.
  ///
  /// Updates are enqueued on the main actor. While one waits, a later one replaces it, so that a busy main actor is not flooded.
  /// An update can arrive after the future has completed or was cancelled, and retried attempts also report their progress.
  @discardableResult
  public func download(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], to file: URL,
    maximumSize: Int? = ResponseDelivery.defaultMaximumFileSize,
    on main: MainExecutor, onProgress: @escaping @MainActor @Sendable (HTTPProgress) -> Void,
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    download(
      endpoint, query: query, to: file, maximumSize: maximumSize,
      onProgress: main.latest(onProgress),
      configure: configure)
  }

  /// Sends a body, and decodes the body of the response as JSON.
  ///
  /// ```swift
  /// let photo = api.upload(
  ///   "photos", body: try .multipart([.text("title", title), .file("photo", file, contentType: "image/jpeg")]),
  ///   onProgress: { progress in log(progress.sent.fraction ?? 0) }, as: Photo.self)
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded.
  ///   - method: The method. Defaults to `POST`.
  ///   - body: The body. If the expression throws an error, the future fails with it.
  ///   - onProgress: A closure that is called after each piece of the body, one call at a time, on the queue of the
  ///     transport. The rules of `ProgressHandler` apply.
  ///   - configure: A closure that changes the request before it is loaded. It is called once, before this method
  ///     returns.
  ///   - type: The type of the value in the response.
  ///   - decoder: The decoder of the response. Defaults to that of `JSONCoders` in the chain.
  /// - Returns: A future of the value, with the errors of `post(_:json:as:)`.
  @discardableResult
  public func upload<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], method: HTTPMethod = .post,
    body: @autoclosure () throws -> HTTPBody,
    onProgress: (@Sendable (HTTPProgress) -> Void)? = nil, configure: Configure = { _ in }, as type: Value.Type,
    decoder: JSONDecoder? = nil
  ) -> Future<Value> {
    upload(method, endpoint, query, body, acceptingJSON: true, configure, onProgress).decoded(
      as: type, by: decoder, self)
  }

  /// Sends a body, reports progress on the main actor, and decodes the body of the response as JSON.
  ///
  /// Updates are enqueued on the main actor. While one waits, a later one replaces it, so that a busy main actor is not flooded.
  /// An update can arrive after the future has completed or was cancelled, and retried attempts also report their progress.
  @discardableResult
  public func upload<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], method: HTTPMethod = .post,
    body: @autoclosure () throws -> HTTPBody,
    on main: MainExecutor, onProgress: @escaping @MainActor @Sendable (HTTPProgress) -> Void,
    configure: Configure = { _ in }, as type: Value.Type, decoder: JSONDecoder? = nil
  ) -> Future<Value> {
    upload(method, endpoint, query, body, acceptingJSON: true, configure, main.latest(onProgress))
      .decoded(as: type, by: decoder, self)
  }

  /// Sends a body.
  ///
  /// ```swift
  /// let saved = api.upload("notes/\(id)", method: .put, body: .data(text, contentType: "text/plain")) { progress in
  ///   log(progress.sent.fraction ?? 0)
  /// }
  /// ```
  ///
  /// - Returns: A future of the response. It fails with the code `unacceptableStatus` if the status is not in 200 to 299.
  @discardableResult
  public func upload(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], method: HTTPMethod = .post,
    body: @autoclosure () throws -> HTTPBody,
    onProgress: (@Sendable (HTTPProgress) -> Void)? = nil, configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    upload(method, endpoint, query, body, configure, onProgress)
  }

  /// Sends a body, and reports progress on the main actor.
  ///
  /// Updates are enqueued on the main actor. While one waits, a later one replaces it, so that a busy main actor is not flooded.
  /// An update can arrive after the future has completed or was cancelled, and retried attempts also report their progress.
  @discardableResult
  public func upload(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], method: HTTPMethod = .post,
    body: @autoclosure () throws -> HTTPBody,
    on main: MainExecutor, onProgress: @escaping @MainActor @Sendable (HTTPProgress) -> Void,
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    upload(method, endpoint, query, body, configure, main.latest(onProgress))
  }

  private func upload(
    _ method: HTTPMethod, _ endpoint: HTTPEndpoint, _ query: NameValuePairs<String?>, _ body: () throws -> HTTPBody,
    acceptingJSON: Bool = false,
    _ configure: Configure, _ onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Future<HTTPResponse> {
    send(method, endpoint, query, acceptingJSON: acceptingJSON, reportsProgress: onProgress != nil) { request in
      request.body = try body()
      request[option: ProgressHandler.self] = onProgress
      try configure(&request)
    }
  }
}

extension MainExecutor {
  /// Returns a handler that passes progress to a closure on the main actor. While a call waits, later progress replaces its own.
  fileprivate func latest(
    _ onProgress: @escaping @MainActor @Sendable (HTTPProgress) -> Void
  ) -> @Sendable (HTTPProgress) -> Void {
    let waiting = Locked<HTTPProgress?>(nil)
    return { progress in
      let isFirst = waiting.withLock { latest in
        defer { latest = progress }
        return latest == nil
      }
      guard isFirst else { return }
      enqueue {
        if let latest = waiting.withLock({ $0.take() }) { onProgress(latest) }
      }
    }
  }
}

extension HTTPError {
  fileprivate init(notDownloaded response: HTTPResponse) {
    self.init(
      .unacceptableStatus,
      "\(response.request) was not downloaded to a file. The response has status \(response.status) and \(response.bodySize) bytes in memory. The "
        + "status has no body, or the loader does not support ResponseDelivery. See `response`.",
      response: response)
  }
}
