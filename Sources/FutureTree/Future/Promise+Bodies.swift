extension Promise {
  /// Completes with the future that a body returned. If the promise was forced while the body ran, that future receives
  /// the request without the force. Law 5 (force).
  @discardableResult
  package func seal(onto future: Future<Value>) -> Bool {
    if source.seal(onto: future.node, as: .work) { return true }
    if let request = source.lock.withLock({ source.state.requests.furthest?.forwarded }) {
      CancellationPropagation.run(Signal(node: future.node, request: request))
    }
    return false
  }

  /// Completes the future with the result of `body`. If `body` throws an error that means a cancellation, cancels the future.
  @discardableResult
  @usableFromInline func complete(_ body: () throws -> Completion<Value>) -> Bool {
    do {
      return complete(try Trampoline.run(body))
    } catch let cancelled as FutureCancelled {
      return complete(.cancelled(cancelled.reason))
    } catch {
      return complete(error is CancellationError ? .cancelled : .failure(error))
    }
  }
}
