/// The maximum duration of one request. It replaces the loader's `timeout`.
///
/// ```swift
/// request[option: RequestTimeout.self] = .seconds(5)
/// ```
public enum RequestTimeout: HTTPRequestOption {
  /// The loader's `timeout` applies.
  public static var defaultValue: Duration? { nil }
}

/// The maximum time of one request in which no data is sent or received. It replaces the loader's `idleTimeout`.
///
/// ```swift
/// request[option: RequestTimeout.self] = .seconds(3600)  // A large file,
/// request[option: RequestIdleTimeout.self] = .seconds(30)  // which keeps coming.
/// ```
public enum RequestIdleTimeout: HTTPRequestOption {
  /// The loader's `idleTimeout` applies.
  public static var defaultValue: Duration? { nil }
}
