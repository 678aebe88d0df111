import FutureTree

/// A type that loads requests: the end of a chain, or a whole chain.
///
/// ```swift
/// let api: any HTTPLoader = Log() --> SystemLoader()
/// let response = try await api.load(HTTPRequest("https://example.com/")).value
/// ```
///
/// A loader follows these rules of the HTTP contract:
///
/// - *Completes once*: Every `load` returns a future that completes once. No loader calls external code while it holds a
///   lock.
/// - *The holder completes*: A cancellation request reaches the part of the chain that holds the request at that moment.
/// - *One load, one execution*: If a request is loaded twice, it is executed twice.
public protocol HTTPLoader: HTTPPart {
  /// Begins to load a request.
  func load(_ request: HTTPRequest) -> Future<HTTPResponse>

  /// Cancels all loads, waits until they have completed, and removes stored state. The loader is usable afterward.
  ///
  /// - Returns: A future that fails with ``ResetFailed`` if a part of a chain failed. Cancelling it only ends the wait.
  @discardableResult
  func reset() -> Future<Void>
}

/// A type that precedes a loader in a chain, and can change each request and each response.
///
/// ```swift
/// struct Stamp: HTTPLayer {
///   func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
///     var request = request
///     do { try request.setHeader("X-Stamp", "1") } catch { return .failed(error) }
///     return next.load(request)
///   }
/// }
/// let api = Stamp() --> SystemLoader()
/// ```
///
/// A layer receives its `next` with each call. A chain is therefore a value, which cannot contain a cycle and always
/// ends with a loader.
///
/// The rule *The holder completes* says how a layer handles a cancellation request. A layer that holds a request
/// completes its future as `.cancelled`. A layer that has forwarded the request returns the future of `next`, or a
/// future derived from it, so that the cancellation request is forwarded.
///
/// A layer with state implements ``HTTPPart/wipe(_:)``.
public protocol HTTPLayer: HTTPPart {
  /// Loads a request, usually through `next`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - next: The loader after this layer, in the chain of this load.
  /// - Returns: A future that completes once. It forwards a cancellation request to the part of the chain that holds the
  ///   request.
  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse>
}
