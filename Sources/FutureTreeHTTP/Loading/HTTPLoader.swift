import FutureTree

/// Something that answers requests: the end of a chain, or a whole chain.
///
/// ```swift
/// let api: any HTTPLoader = Log() --> URLSessionLoader()
/// let response = try await api.load(HTTPRequest("https://example.com/")).value
/// ```
///
/// Every `load` returns a future that completes once, and no loader calls out while it holds a lock (H1). A request to cancel
/// the future reaches whatever part of the chain has the request now (H2). Loading one request twice is two executions (H7).
public protocol HTTPLoader: Sendable {
  /// Begins to load a request.
  func load(_ request: HTTPRequest) -> Future<HTTPResponse>

  /// Cancels what is being loaded, waits for it, and forgets what was kept. The loader is usable afterwards.
  @discardableResult
  func reset() -> Future<Void>
}

/// Something that stands before a loader and changes what passes: a request on its way in, a response on its way out.
///
/// ```swift
/// struct Stamp: HTTPLayer {
///   func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
///     var request = request
///     do { try request.setHeader("X-Stamp", "1") } catch { return .failed(error) }
///     return next.load(request)
///   }
/// }
/// let api = Stamp() --> URLSessionLoader()
/// ```
///
/// A layer gets its `next` with each call, so a chain is a value: it cannot form a circle or lack its end. A layer that holds
/// a request back completes it itself when it is asked to cancel; one that has passed it on returns the future of `next`, or
/// a future derived from it, and the request to cancel finds its way (H2).
public protocol HTTPLayer: Sendable {
  /// Answers a request, as a rule with what `next` answers to it or to another.
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - next: what comes after this layer in the chain of this load.
  /// - Returns: a future that completes once. Asked to cancel, it passes the request to cancel to whoever has the load now.
  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse>

  /// Forgets what this layer keeps, and resets what comes after it.
  @discardableResult
  func reset(next: any HTTPLoader) -> Future<Void>
}

extension HTTPLayer {
  /// For layers that keep nothing.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    next.reset()
  }
}
