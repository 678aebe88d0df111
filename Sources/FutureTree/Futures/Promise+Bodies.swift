extension Promise {
  /// Completes the future with what `body` returns, or with what it throws: errors that mean a cancellation cancel it.
  @discardableResult
  func complete(_ body: () throws -> Completion<Value>) -> Bool {
    do {
      return complete(try Trampoline.run(body))
    } catch let cancelled as FutureCancelled {
      return complete(.cancelled(cancelled.reason))
    } catch {
      return complete(error is CancellationError ? .cancelled : .failure(error))
    }
  }
}
