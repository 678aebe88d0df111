/// A handler entry that knows the value type of its promise.
@usableFromInline
final class PromiseHandler<Value: Sendable>: HandlerEntry, @unchecked Sendable {  // Because: see `HandlerEntry`.
  @usableFromInline typealias Handler = @Sendable (ReceivedCancelRequest<Value>) -> CancelRequestResponse<Value>

  @exclusivity(unchecked) @usableFromInline var handler: Handler?

  @inlinable init(of source: Source, on executor: FutureExecutor, _ handler: @escaping Handler) {
    self.handler = handler
    super.init(of: source, on: executor) { entry, source, request in
      let entry = unsafeDowncast(entry, to: PromiseHandler<Value>.self)
      guard let handler = entry.handler.take(), let request else { return }
      let received = ReceivedCancelRequest<Value>(source: source, request: request)
      if case .complete(let completion) = handler(received) {
        source.fulfill(completion, innerRole: .answer(to: request))
      }
    }
  }
}
