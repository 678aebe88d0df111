import FutureTree

/// Changes each request on its way in.
///
/// ```swift
/// let api = ModifyRequest { request in
///   var request = request
///   try request.setHeader("Accept", "application/json")
///   return request
/// } --> URLSessionLoader()
///
/// let signed = ModifyRequest { request in keys.current().map { key in try request.signed(with: key) } }
/// ```
///
/// What the closure throws, or its future fails with, fails the load.
///
/// **Cancellation.** While its future is pending, this layer holds the request: a request to cancel goes to that future, and
/// the load does not go on, whatever becomes of it.
///
/// **Reset.** It keeps nothing. What it waits for is cancelled by an `Autocancel` before it, and else awaited by a
/// `ResetGuard`.
public struct ModifyRequest: HTTPLayer {
  private enum Change: Sendable {
    case now(@Sendable (HTTPRequest) throws -> HTTPRequest)
    case later(@Sendable (HTTPRequest) throws -> Future<HTTPRequest>)
  }

  private let change: Change

  /// Sends what the closure returns.
  public init(_ modify: @escaping @Sendable (HTTPRequest) throws -> HTTPRequest) {
    change = .now(modify)
  }

  /// Sends what the future of the closure succeeds with.
  public init(_ modify: @escaping @Sendable (HTTPRequest) throws -> Future<HTTPRequest>) {
    change = .later(modify)
  }

  /// Passes on what the closure makes of the request, as soon as that is there.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    do {
      switch change {
      case .now(let modify): return next.load(try modify(request))
      case .later(let modify): return try modify(request).flatMap { next.load($0) }
      }
    } catch {
      return .failed(error)
    }
  }
}
