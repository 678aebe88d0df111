import FutureTree

/// A layer that adds the server to requests: the host, the path prefix, header fields and query items that they lack.
///
/// ```swift
/// let api = ApplyEnvironment(production) --> SystemLoader()
///
/// var request = try HTTPRequest(.get, path: "users/1")
/// request.serverEnvironment = staging  // This request uses another server.
/// ```
///
/// If the request has its own environment, that environment is used instead of the layer's. If
/// `ServerEnvironment.applied(to:)` throws an error, the load fails with it.
///
/// **Cancellation.** The layer holds no requests.
///
/// **Reset.** The layer keeps no state.
public struct ApplyEnvironment: HTTPLayer {
  private let environment: ServerEnvironment?

  /// Creates the layer.
  ///
  /// - Parameter environment: The environment for requests that have none. `nil` forwards such requests unchanged.
  public init(_ environment: ServerEnvironment?) {
    self.environment = environment
  }

  /// Forwards the request with the additions of the environment. Fails if the environment cannot be applied.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard let environment = request.serverEnvironment ?? environment else { return next.load(request) }
    do { return next.load(try environment.applied(to: request)) } catch {
      return .failed(error).named(.applyEnvironment)
    }
  }
}

extension FutureName {
  fileprivate static let applyEnvironment = FutureName("ApplyEnvironment")
}
