import FutureTree
import FutureTreeHTTP

/// A layer that runs the loads of a chain in a scope, so that a shutdown drains and cancels them. Put it first in the chain.
///
/// ```swift
/// let work = CancelScope("work")
/// let api = RunInScope(work) --> Retry() --> transport
/// let service = ScopeService(work)
/// ```
///
/// A load belongs to the scope until the transfer of its body has completed. If the scope has ended, loads are not forwarded: they
/// fail with `ScopeEnded`, or are cancelled with the reason of the request that the scope received.
///
/// **Cancellation.** The layer holds no requests: a cancellation request is forwarded to the loader that holds the request. A caller
/// that forces its load detaches from the work, and the scope still waits for it.
///
/// **Reset.** The layer keeps no state, and a reset does not end the scope. Nothing is wiped at a shutdown.
///
/// **In two chains.** A scope can be that of several layers.
public struct RunInScope: HTTPLayer {
  private let scope: CancelScope

  /// Creates the layer.
  ///
  /// - Parameter scope: The scope of the loads. The layer retains it.
  public init(_ scope: CancelScope) {
    self.scope = scope
  }

  /// Forwards the request, unless the scope has ended.
  ///
  /// - Returns: A future with the outcome of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard !scope.isEnded else { return scope.run { next.load(request) } }  // Refused, with the outcome of the scope.
    let work = scope.nested("\(request)", whenEnded: .waitsForWork, whenWorkFails: .continues)
    let load = work.run { next.load(request) }
    load.observe { outcome in
      if case .success(let response) = outcome { work.addTransfer(response.transfer) }
      work.end()
    }
    // A separate future: if the caller forces it, the work of the scope does not end.
    return load.map { $0 }.named("RunInScope")
  }
}

extension CancelScope {
  /// Adds the transfer of a response that came in the scope. If a request has ended the scope, the transfer receives it too.
  package func addTransfer(_ transfer: Future<Void>) {
    guard !transfer.isCompleted, !add(transfer) else { return }
    transfer.cancel(reason: future.cancelRequest?.reason)
  }
}
