import FutureTreeHTTP
import HTTPTypes

extension HTTPHeaders {
  /// Creates headers from fields, in order. Their indexing strategies are lost.
  ///
  /// ```swift
  /// let headers = try HTTPHeaders([.accept: "text/html"] as HTTPFields)
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderValue` if a value has characters beyond ASCII, a control character, or blanks at
  ///   its ends.
  /// - Complexity: O(n) in the number of fields.
  public init(_ fields: HTTPFields) throws(HTTPError) {
    self.init()
    for field in fields { try add(field.name.rawName, field.value) }
  }
}

extension HTTPFields {
  /// Creates fields from headers, in order.
  ///
  /// - Parameters:
  ///   - headers: The headers.
  ///   - request: The request whose secrets the headers can have. Fields that are secrets of it, such as `Authorization` and
  ///     `Set-Cookie`, have the indexing strategy `disallow`, so that no proxy indexes their values. Defaults to `nil`: all fields have
  ///     the default strategy.
  /// - Throws: `HTTPError` with the code `invalidHeaderValue` if there are more than 60,000 fields. `HTTPFields` ends the process a little
  ///   above that number.
  /// - Complexity: O(n) in the number of fields.
  public init(_ headers: HTTPHeaders, of request: FutureTreeHTTP.HTTPRequest? = nil) throws(HTTPError) {
    self.init()
    guard headers.count <= 60_000 else {
      throw HTTPError(
        .invalidHeaderValue, "The message has \(headers.count) fields. The limit is 60,000. Send fewer fields.")
    }
    for header in headers {
      guard let name = HTTPField.Name(header.name) else { continue }  // Never: both types accept only tokens.
      var field = HTTPField(name: name, value: header.value)
      if request?.isSensitive(header: header.name) == true { field.indexingStrategy = .disallow }
      append(field)
    }
  }
}

extension HTTPMethod {
  /// Creates a method.
  ///
  /// - Throws: `HTTPError` with the code `invalidMethod` if the method is not a token, which swift-http-types refuses too.
  public init(_ method: HTTPTypes.HTTPRequest.Method) throws(HTTPError) {
    try self.init(method.rawValue)
  }
}

extension HTTPTypes.HTTPRequest.Method {
  /// Creates a method.
  public init(_ method: HTTPMethod) {
    self.init(rawValue: method.name)!  // Both types accept the same tokens.
  }
}

extension HTTPStatus {
  /// Creates a status. The reason phrase is lost.
  public init(_ status: HTTPTypes.HTTPResponse.Status) {
    self.init(status.code)
  }
}

extension HTTPTypes.HTTPResponse.Status {
  /// Creates a status without a reason phrase.
  ///
  /// - Returns: `nil` if the code is not in 0 to 999.
  public init?(_ status: HTTPStatus) {
    guard (0...999).contains(status.code) else { return nil }
    self.init(code: status.code)
  }
}
