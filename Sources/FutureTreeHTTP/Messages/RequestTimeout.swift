/// How long one request may take in all, in place of the loader's `timeout`.
///
/// ```swift
/// request[option: RequestTimeout.self] = .seconds(5)
/// ```
public enum RequestTimeout: HTTPRequestOption {
  /// The loader decides.
  public static var defaultValue: Duration? { nil }
}

/// How long nothing may be sent and nothing received for one request, in place of the loader's `idleTimeout`.
///
/// ```swift
/// request[option: RequestTimeout.self] = .seconds(3600)  // A large file,
/// request[option: RequestIdleTimeout.self] = .seconds(30)  // which keeps coming.
/// ```
public enum RequestIdleTimeout: HTTPRequestOption {
  /// The loader decides.
  public static var defaultValue: Duration? { nil }
}
