/// The maximum duration of one request. It replaces the loader's `timeout`.
///
/// ```swift
/// request.timeout = .seconds(5)
/// ```
public enum RequestTimeout: HTTPRequestOption {
  /// The loader's `timeout` applies.
  public static var defaultValue: Duration? { nil }
}

extension HTTPRequest {
  /// The maximum duration of this request, which replaces the `timeout` of the loader.
  public var timeout: Duration? {
    get { self[option: RequestTimeout.self] }
    set { self[option: RequestTimeout.self] = newValue }
  }
}

/// The maximum time of one request in which no data is sent or received. It replaces the loader's `idleTimeout`.
///
/// ```swift
/// request.timeout = .seconds(3600)  // A large file,
/// request.idleTimeout = .seconds(30)  // which keeps coming.
/// ```
public enum RequestIdleTimeout: HTTPRequestOption {
  /// The loader's `idleTimeout` applies.
  public static var defaultValue: Duration? { nil }
}

extension HTTPRequest {
  /// The maximum time in which no data is sent or received, which replaces the `idleTimeout` of the loader.
  public var idleTimeout: Duration? {
    get { self[option: RequestIdleTimeout.self] }
    set { self[option: RequestIdleTimeout.self] = newValue }
  }
}
