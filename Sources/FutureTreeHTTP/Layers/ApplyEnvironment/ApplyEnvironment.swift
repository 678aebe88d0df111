import FutureTree

/// Fills in the server that requests are for: host, path prefix, header fields and query items that they do not have.
///
/// ```swift
/// let api = ApplyEnvironment(production) --> URLSessionLoader()
///
/// var request = try HTTPRequest(.get, path: "users/1")
/// request.serverEnvironment = staging  // This one goes elsewhere.
/// ```
///
/// The environment of a request comes before that of the layer. What `ServerEnvironment.applied(to:)` throws fails the load.
///
/// **Cancellation.** It holds nothing back.
///
/// **Reset.** It keeps nothing.
public struct ApplyEnvironment: HTTPLayer {
  private let environment: ServerEnvironment?

  /// - Parameter environment: for requests that have none; nil sends those on as they are.
  public init(_ environment: ServerEnvironment?) {
    self.environment = environment
  }

  /// Passes the request on with what the environment adds to it, or fails with the error of one that does not fit.
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
