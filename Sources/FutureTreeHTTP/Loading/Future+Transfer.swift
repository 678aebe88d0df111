import FutureTree

extension Future<HTTPResponse> {
  /// Calls a closure when a load has ended: its future has completed, and then the transfer of its body.
  ///
  /// ```swift
  /// func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
  ///   slots.take()
  ///   let future = next.load(request)
  ///   future.observeTransfer { _, _ in slots.free() }
  ///   return future
  /// }
  /// ```
  ///
  /// A layer that holds something for a load, such as a slot or a timer, frees it here (the rule *Held until the transfer
  /// completes*). The closure observes without interest, as with `observe`. It runs outside every lock.
  ///
  /// The closure does not keep the stream, so a stream still ends when its caller drops it. The response that the closure
  /// receives for a stream has the number of received bytes, and cannot be read.
  ///
  /// - Parameter body: The closure. It is called once, with the outcome of the load and the outcome of the transfer. If the
  ///   load failed or was cancelled, the second has the same failure or cancellation.
  public func observeTransfer(
    _ body: @escaping @Sendable (_ outcome: Outcome<HTTPResponse>, _ transfer: Outcome<Void>) -> Void
  ) {
    observeTransfer(with: body) { body, outcome, transfer in body(outcome, transfer) }
  }

  /// Calls a closure with a context when a load has ended. A closure that captures nothing needs no allocation of its own.
  func observeTransfer<Context: Sendable>(
    with context: Context,
    _ body: @escaping @Sendable (Context, _ outcome: Outcome<HTTPResponse>, _ transfer: Outcome<Void>) -> Void
  ) {
    observe { outcome in
      guard let transfer = outcome.pendingTransfer else { return body(context, outcome, outcome.transfer) }
      let unreadable = outcome.withoutReader
      transfer.observe { body(context, unreadable, $0) }
    }
  }
}

extension Outcome<HTTPResponse> {
  /// The transfer of the response, unless it has completed.
  var pendingTransfer: Future<Void>? {
    guard case .success(let response) = self, let transfer = response.stream?.transfer, !transfer.isCompleted else {
      return nil
    }
    return transfer
  }

  /// The outcome with a response that does not keep its stream.
  fileprivate var withoutReader: Outcome {
    guard case .success(let response) = self, let pipe = response.stream?.pipe else { return self }
    return .success(response.replacingContent(.stream(HTTPBodyStream(pipe, reader: nil))))
  }

  /// The outcome of a transfer that has completed.
  fileprivate var transfer: Outcome<Void> {
    switch self {
    case .success(let response): response.stream?.transfer.outcomeIfCompleted ?? .success(())
    case .failure(let error): .failure(error)
    case .cancelled(let reason): .cancelled(reason)
    }
  }
}
