import Foundation
import FutureTree

// One line for an everyday call. Each is a request, `load`, `validated` and `decoded` in one; errors of building the request
// become failures of the future.

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
  /// - Parameter makeRequest: It is called once, now.
  @discardableResult
  public func load(_ makeRequest: () throws -> HTTPRequest) -> Future<HTTPResponse> {
    .attempt { load(try makeRequest()) }
  }

  /// Changes a new request before it is loaded; a parameter of `get`, `post` and their like.
  public typealias Configure = (inout HTTPRequest) throws -> Void
}

// MARK: - Without a body

extension HTTPLoader {
  /// Loads a resource with `GET`, and decodes its body as JSON.
  ///
  /// ```swift
  /// let posts = api.get("users/\(id)/posts", query: [("page", "2")], as: [Post].self)
  /// ```
  ///
  /// The request asks for JSON (`Accept: application/json`). A status other than 200 to 299 fails the future with the code
  /// `unacceptableStatus`, and a body that cannot be decoded with `undecodableBody`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are added to the query, percent-encoded.
  ///   - type: The type of the value.
  ///   - decoder: The decoder of the body.
  ///   - configure: Changes the request before it is loaded: header fields, options. It is called once, now.
  /// - Returns: A future of the value. An error of building the request is its failure.
  @discardableResult
  public func get<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], as type: Value.Type,
    decoder: JSONDecoder = JSONDecoder(), configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.get, endpoint, query, acceptingJSON: true, configure).decoded(as: type, using: decoder)
  }

  /// Loads a resource with `GET`.
  ///
  /// ```swift
  /// let robots = api.get("/robots.txt").map { response in String(decoding: try response.body, as: UTF8.self) }
  /// ```
  ///
  /// - Returns: A future of the response. A status other than 200 to 299 fails it with the code `unacceptableStatus`; an error
  ///   of building the request is its failure.
  @discardableResult
  public func get(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.get, endpoint, query, configure)
  }

  /// Deletes a resource with `DELETE`.
  ///
  /// ```swift
  /// let deleted = api.delete("comments/\(comment.id)")
  /// ```
  ///
  /// - Returns: A future of the response. A status other than 200 to 299 fails it with the code `unacceptableStatus`; an error
  ///   of building the request is its failure.
  @discardableResult
  public func delete(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.delete, endpoint, query, configure)
  }

  /// Deletes a resource with `DELETE`, and decodes the body of the response as JSON. It is like `get(_:query:as:)`.
  @discardableResult
  public func delete<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], as type: Value.Type,
    decoder: JSONDecoder = JSONDecoder(), configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.delete, endpoint, query, acceptingJSON: true, configure).decoded(as: type, using: decoder)
  }
}

// MARK: - With a body of JSON

extension HTTPLoader {
  /// Sends a value as JSON with `POST`, and decodes the body of the response as JSON.
  ///
  /// ```swift
  /// let comment = api.post("posts/\(post.id)/comments", json: draft, as: Comment.self)
  /// ```
  ///
  /// The value is encoded now, on this thread. A status other than 200 to 299 fails the future with the code
  /// `unacceptableStatus`, and a body that cannot be decoded with `undecodableBody`.
  ///
  /// - Parameters:
  ///   - endpoint: The URL or the path. Interpolated values are encoded.
  ///   - query: Names and values that are added to the query, percent-encoded.
  ///   - value: The value that is sent.
  ///   - encoder: The encoder of the value.
  ///   - type: The type of the value in the response.
  ///   - decoder: The decoder of the response.
  ///   - configure: Changes the request before it is loaded: header fields, options. It is called once, now.
  /// - Returns: A future of the value. An error of encoding or of building the request is its failure.
  @discardableResult
  public func post<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    as type: Value.Type, decoder: JSONDecoder = JSONDecoder(), configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.post, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(as: type, using: decoder)
  }

  /// Sends a value as JSON with `POST`.
  ///
  /// - Returns: A future of the response, as that of `get(_:query:)`.
  @discardableResult
  public func post(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.post, endpoint, query, json: value, encoder, configure)
  }

  /// Sends a value as JSON with `PUT`, and decodes the body of the response as JSON. It is like `post(_:query:json:as:)`.
  @discardableResult
  public func put<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    as type: Value.Type, decoder: JSONDecoder = JSONDecoder(), configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.put, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(as: type, using: decoder)
  }

  /// Sends a value as JSON with `PUT`.
  ///
  /// - Returns: A future of the response, as that of `get(_:query:)`.
  @discardableResult
  public func put(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.put, endpoint, query, json: value, encoder, configure)
  }

  /// Sends a value as JSON with `PATCH`, and decodes the body of the response as JSON. It is like `post(_:query:json:as:)`.
  @discardableResult
  public func patch<Value: Decodable & Sendable>(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    as type: Value.Type, decoder: JSONDecoder = JSONDecoder(), configure: Configure = { _ in }
  ) -> Future<Value> {
    send(.patch, endpoint, query, json: value, encoder, acceptingJSON: true, configure).decoded(
      as: type, using: decoder)
  }

  /// Sends a value as JSON with `PATCH`.
  ///
  /// - Returns: A future of the response, as that of `get(_:query:)`.
  @discardableResult
  public func patch(
    _ endpoint: HTTPEndpoint, query: [(String, String?)] = [], json value: some Encodable,
    encoder: JSONEncoder = JSONEncoder(),
    configure: Configure = { _ in }
  ) -> Future<HTTPResponse> {
    send(.patch, endpoint, query, json: value, encoder, configure)
  }
}

// MARK: - What they share

extension HTTPLoader {
  /// Builds a request, loads it, and validates the status.
  func send(
    _ method: HTTPMethod, _ endpoint: HTTPEndpoint, _ query: [(String, String?)] = [], acceptingJSON: Bool = false,
    reportsProgress: Bool = false, _ configure: Configure
  ) -> Future<HTTPResponse> {
    let response = load {
      var request = try HTTPRequest(method, to: endpoint, query: query)
      if acceptingJSON { try request.setHeader("Accept", "application/json") }
      try configure(&request)
      return request
    }
    guard reportsProgress else { return response.validated() }
    // Whoever keeps the response must not keep what the handler of the progress captured.
    return response.map { response in
      var request = response.request
      request[option: ProgressHandler.self] = nil
      return response.answering(request)
    }.validated()
  }

  private func send(
    _ method: HTTPMethod, _ endpoint: HTTPEndpoint, _ query: [(String, String?)], json value: some Encodable,
    _ encoder: JSONEncoder,
    acceptingJSON: Bool = false, _ configure: Configure
  ) -> Future<HTTPResponse> {
    send(method, endpoint, query, acceptingJSON: acceptingJSON) { request in
      request.body = try .json(value, encoder: encoder)
      try configure(&request)
    }
  }
}
