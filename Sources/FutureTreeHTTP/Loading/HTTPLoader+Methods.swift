import Foundation
import FutureTree

// Methods for everyday requests. Each combines a request, `load`, `validated` and `decoded`. Errors of building the
// request become failures of the future.

extension HTTPLoader {
  /// Loads the request that a closure builds. An error that the closure throws becomes the failure of the future.
  ///
  /// ```swift
  /// func rename(_ id: Int, to name: String) -> Future<HTTPResponse> {
  ///   api.load {
  ///     var request = try HTTPRequest(.put, to: "users/\(id)/name")
  ///     try request.setHeader("If-Match", "*")
  ///     request.body = try .json(name)
  ///     return request
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter makeRequest: The closure that builds the request. It is called once, before this method returns.
  @discardableResult
  public func load(_ makeRequest: () throws -> HTTPRequest) -> Future<HTTPResponse> {
    .attempt { load(try makeRequest()) }
  }

  /// Loads the request that a closure builds, and delivers its body as a stream: the future completes at the head.
  ///
  /// ```swift
  /// let response = try await api.stream { try HTTPRequest(.get, path: "films/7") }.value
  /// for try await chunk in response.bodyStream { try file.write(contentsOf: chunk) }
  /// ```
  ///
  /// A response whose status is not in 200 to 299 is a success, and its body is delivered in memory. To fail for such a
  /// status, add `validated()`.
  ///
  /// - Parameter makeRequest: The closure that builds the request. It is called once, before this method returns. If it
  ///   sets `ResponseDelivery.stream` with other limits, they apply.
  @discardableResult
  public func stream(_ makeRequest: () throws -> HTTPRequest) -> Future<HTTPResponse> {
    load {
      var request = try makeRequest()
      if !request.delivery.isStream { request.delivery = .stream() }
      return request
    }
  }

  /// A closure that changes a new request before it is loaded. `get`, `post` and similar methods take it as a parameter.
  public typealias Configure = (inout HTTPRequest) throws -> Void
}

// MARK: - Without a body

extension HTTPLoader {
  /// Loads a resource with `GET`, and decodes its body as JSON.
  ///
  /// ```swift
  /// let posts = api.get("users/\(id)/posts", query: ["page": "2"], as: [Post].self)
  /// ```
  ///
  /// The request asks for JSON (`Accept: application/json`). If the status is not in 200 to 299, the future fails with
  /// the code `unacceptableStatus`. If the body cannot be decoded, it fails with the code `undecodableBody`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded.
  ///   - type: The type of the value.
  ///   - decoder: The decoder of the body. Defaults to that of `JSONCoders` in the chain.
  ///   - configure: A closure that changes the request before it is loaded, for example its header fields or options. It
  ///     is called once, before this method returns.
  /// - Returns: A future of the value. It fails if the request cannot be built.
  @discardableResult
  public func get<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], as type: Value.Type,
    decoder: JSONDecoder? = nil, configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.get, endpoint, query, acceptingJSON: true, configure).decoded(as: type, by: decoder, self)
  }

  /// Loads a resource with `GET`.
  ///
  /// ```swift
  /// let robots = api.get("/robots.txt").map { response in String(decoding: try response.body, as: UTF8.self) }
  /// ```
  ///
  /// - Returns: A future of the response. It fails with the code `unacceptableStatus` if the status is not in 200 to 299.
  ///   It also fails if the request cannot be built.
  @discardableResult
  public func get(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.get, endpoint, query, configure)
  }

  /// Loads a resource with `GET`, and delivers its body as a stream: the future completes at the head.
  ///
  /// ```swift
  /// let film = api.stream("films/\(id)").flatMap { response in save(response.bodyStream) }
  /// ```
  ///
  /// - Returns: A future of the response. It fails with the code `unacceptableStatus` if the status is not in 200 to 299.
  ///   It also fails if the request cannot be built.
  @discardableResult
  public func stream(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.get, endpoint, query) { request in
      request.delivery = .stream()
      try configure(&request)
    }
  }

  /// Deletes a resource with `DELETE`.
  ///
  /// ```swift
  /// let deleted = api.delete("comments/\(comment.id)")
  /// ```
  ///
  /// - Returns: A future of the response. It fails with the code `unacceptableStatus` if the status is not in 200 to 299.
  ///   It also fails if the request cannot be built.
  @discardableResult
  public func delete(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.delete, endpoint, query, configure)
  }

  /// Deletes a resource with `DELETE`, and decodes the body of the response as JSON.
  ///
  /// The parameters and errors are those of `get(_:query:as:)`.
  @discardableResult
  public func delete<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], as type: Value.Type,
    decoder: JSONDecoder? = nil, configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.delete, endpoint, query, acceptingJSON: true, configure).decoded(as: type, by: decoder, self)
  }
}

// MARK: - With a JSON body

extension HTTPLoader {
  /// Sends a value as JSON with `POST`, and decodes the body of the response as JSON.
  ///
  /// ```swift
  /// let comment = api.post("posts/\(post.id)/comments", json: draft, as: Comment.self)
  /// ```
  ///
  /// The value is encoded immediately, on the calling thread. If the status is not in 200 to 299, the future fails with
  /// the code `unacceptableStatus`. If the body of the response cannot be decoded, it fails with the code
  /// `undecodableBody`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are appended to the query, percent-encoded.
  ///   - value: The value to send.
  ///   - encoder: The encoder of the value. Defaults to that of `JSONCoders` in the chain.
  ///   - type: The type of the value in the response.
  ///   - decoder: The decoder of the response. Defaults to that of `JSONCoders` in the chain.
  ///   - configure: A closure that changes the request before it is loaded, for example its header fields or options. It
  ///     is called once, before this method returns.
  /// - Returns: A future of the value. It fails if the value cannot be encoded or the request cannot be built.
  @discardableResult
  public func post<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    as type: Value.Type, decoder: JSONDecoder? = nil, configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.post, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(
      as: type, by: decoder, self)
  }

  /// Sends a value as JSON with `POST`.
  ///
  /// - Returns: A future of the response, with the errors of `get(_:query:)`.
  @discardableResult
  public func post(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.post, endpoint, query, json: value, encoder, configure)
  }

  /// Sends a value as JSON with `PUT`, and decodes the body of the response as JSON.
  ///
  /// The parameters and errors are those of `post(_:query:json:as:)`.
  @discardableResult
  public func put<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    as type: Value.Type, decoder: JSONDecoder? = nil, configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.put, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(
      as: type, by: decoder, self)
  }

  /// Sends a value as JSON with `PUT`.
  ///
  /// - Returns: A future of the response, with the errors of `get(_:query:)`.
  @discardableResult
  public func put(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.put, endpoint, query, json: value, encoder, configure)
  }

  /// Sends a value as JSON with `PATCH`, and decodes the body of the response as JSON.
  ///
  /// The parameters and errors are those of `post(_:query:json:as:)`.
  @discardableResult
  public func patch<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    as type: Value.Type, decoder: JSONDecoder? = nil, configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.patch, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(
      as: type, by: decoder, self)
  }

  /// Sends a value as JSON with `PATCH`.
  ///
  /// - Returns: A future of the response, with the errors of `get(_:query:)`.
  @discardableResult
  public func patch(
    _ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = [], json value: some Encodable,
    encoder: JSONEncoder? = nil,
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.patch, endpoint, query, json: value, encoder, configure)
  }
}

// MARK: - Shared implementation

extension HTTPLoader {
  /// Builds a request, loads it, and validates the status.
  func send(
    _ method: HTTPMethod, _ endpoint: HTTPEndpoint, _ query: NameValuePairs<String?> = [], acceptingJSON: Bool = false,
    reportsProgress: Bool = false, _ configure: Configure
  ) -> Future<HTTPResponse> {
    let response = load {
      var request = try HTTPRequest(method, to: endpoint, query: query)
      if acceptingJSON { try request.setHeader("Accept", "application/json") }
      try configure(&request)
      return request
    }
    guard reportsProgress else { return response.validated() }
    // A caller that keeps the response must not keep the values that the progress handler captured.
    return response.map { response in
      var request = response.request
      request.progress = nil
      return response.answering(request)
    }.validated()
  }

  private func send(
    _ method: HTTPMethod, _ endpoint: HTTPEndpoint, _ query: NameValuePairs<String?>, json value: some Encodable,
    _ encoder: JSONEncoder?,
    acceptingJSON: Bool = false, _ configure: Configure
  ) -> Future<HTTPResponse> {
    send(method, endpoint, query, acceptingJSON: acceptingJSON) { request in
      request.body = try .json(value, encoder: encoder ?? coders?.encoder ?? JSONEncoder())
      try configure(&request)
    }
  }
}
