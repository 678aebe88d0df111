import Foundation

/// A request option: fields that the transport sends after the body, and that are computed from its bytes (trailer fields, RFC 9110,
/// section 6.5).
///
/// ```swift
/// request.body = .file(URL(fileURLWithPath: "film.mp4"), contentType: "video/mp4")
/// request.trailers = try RequestTrailers(["X-Count"], from: 0) { count, bytes in
///   count += bytes.count
/// } fields: { count in
///   ["X-Count": "\(count)"]
/// }
/// ```
///
/// Each sending begins with the initial value, so that a request that is repeated, or sent twice at the same time, has the right
/// fields each time. The bytes are those that are sent, in chunks of any size: a layer such as `CompressBodies` has changed them before.
///
/// The head of the request announces the names in `Trailer`, and the body is sent without `Content-Length`. A server that asks for it
/// refuses such a request. Without a body, nothing is announced or sent.
///
/// `CurlLoader` sends trailers, always over HTTP/1.1, and so does `AsyncHTTPClientLoader`, also over HTTP/2. With `URLSession`, a load
/// with a body and trailers fails with the code `unsupportedTrailers` before anything is sent. `ResumeUploads` does not continue such an
/// upload.
public struct RequestTrailers: HTTPRequestOption, Sendable {
  /// No trailers.
  public static var defaultValue: RequestTrailers? { nil }

  /// The names of the fields, as they are announced.
  public let names: [String]
  private let makeComputation: @Sendable () -> Computation

  /// Creates trailers.
  ///
  /// - Parameters:
  ///   - names: The names of the fields. `fields` can leave some of them out.
  ///   - initial: The value with which each sending begins.
  ///   - update: Adds the next bytes of the body to the value. It runs on the thread or in the task that reads the body.
  ///   - fields: Returns the fields after the last bytes. If it throws an error, the load fails with the code `unreadableBody`. An
  ///     `HTTPError` stays as it is.
  /// - Throws: `HTTPError` with the code `invalidHeaderName`, or `forbiddenHeader` for a field that frames, routes, controls or
  ///   authenticates the request, or that describes its body: servers need these before the body (RFC 9110, section 6.5.1).
  public init<Value: Sendable>(
    _ names: [String], from initial: Value, update: @escaping @Sendable (inout Value, Data) -> Void,
    fields: @escaping @Sendable (Value) throws -> NameValuePairs<String>
  ) throws(HTTPError) {
    for name in names { try RequestTrailers.checkIsAllowed(name) }
    self.names = names
    makeComputation = {
      var value = initial
      return Computation(names: names) {
        update(&value, $0)
      } fields: {
        try fields(value)
      }
    }
  }

  private static func checkIsAllowed(_ name: String) throws(HTTPError) {
    _ = try HTTPHeaders.Field(name, "")
    try HTTPRequest.checkIsAllowed(name)
    let lower = name.lowercased()
    guard forbidden.contains(lower) || lower.hasPrefix("if-") else { return }
    throw HTTPError(
      .forbiddenHeader, "The field \(name) cannot follow the body, because servers need it before. Set it as a header.")
  }

  private static let forbidden: Set<String> = [
    "authorization", "cache-control", "content-encoding", "content-range", "content-type", "cookie", "max-forwards",
    "pragma", "proxy-authorization", "range",
  ]
}

// MARK: - Transports

extension RequestTrailers {
  /// Begins the computation of the fields of one sending, for a transport.
  ///
  /// ```swift
  /// let trailers = exchange.trailers?.begin()
  /// for try await chunk in request.body.chunks() {
  ///   trailers?.receive(chunk)
  ///   try await connection.write(chunk)
  /// }
  /// try await connection.end(trailers?.finish())
  /// ```
  public func begin() -> Computation { makeComputation() }

  /// The computation of the fields of one sending. It is used by one thread at a time.
  public struct Computation {
    let names: [String]
    let update: (Data) -> Void
    let fields: () throws -> NameValuePairs<String>

    /// Adds the next bytes of the body.
    public func receive(_ bytes: Data) { update(bytes) }

    /// Returns the fields. The whole body was received.
    ///
    /// - Throws: `HTTPError` if the fields cannot be computed, are not valid, or were not announced. The transport then closes the
    ///   connection without the end of the body.
    public func finish() throws(HTTPError) -> HTTPHeaders {
      let pairs: NameValuePairs<String>
      do { pairs = try fields() } catch {
        throw error as? HTTPError
          ?? HTTPError(
            .unreadableBody, "The fields after the body cannot be computed. See `underlying`.", underlying: error)
      }
      let headers = try HTTPHeaders(pairs)
      for field in headers where !names.contains(where: field.isNamed) {
        throw HTTPError(
          .forbiddenHeader,
          "The field \(field.name) after the body was not announced. Add its name to those of `RequestTrailers`.")
      }
      return headers
    }
  }
}

extension HTTPRequest {
  /// The fields that follow the body of this request. Defaults to `nil`.
  public var trailers: RequestTrailers? {
    get { self[option: RequestTrailers.self] }
    set { self[option: RequestTrailers.self] = newValue }
  }
}
