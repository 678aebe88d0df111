// Tokens and handlers: laws 7 (handlers answer), 8 (no request is lost), 9 (handlers run) and 13 (tokens).

extension ContractModel {
  // MARK: - Requests

  /// Requests as a token, or without a consumer. A request by the future itself is not attributed to a consumer.
  mutating func cancel(_ future: Int, _ request: ModelRequest, token: Int? = nil) -> ModelReceipt {
    if let outcome = nodes[future].outcome {
      tally[.receipt] += 1
      return ModelReceipt(effect: .tooLate(ending: outcome.ending), reached: 1)
    }
    var detaches = false
    if let token {
      detaches = tokens[token].hasInterest
      tokens[token].hasInterest = false  // Law 3 (stopping where others wait): a token that requested has no interest.
    }
    return propagation([Start(node: future, request: request, detaches: detaches)])
  }

  mutating func takeToken(_ future: Int) {
    tokens.append(Token(future: future, hasInterest: nodes[future].outcome == nil))
    gainConsumer(future)
  }

  mutating func cancelToken(_ token: Int, _ request: ModelRequest) -> ModelReceipt {
    cancel(tokens[token].future, request, token: token)
  }

  /// Withdraws the interest of a token. Law 13 (tokens): the drop is no request.
  mutating func dropToken(_ token: Int) {
    tokens[token].isAlive = false
    guard tokens[token].hasInterest, nodes[tokens[token].future].outcome == nil else { return }
    tokens[token].hasInterest = false
    tally[.tokens] += 1
    if mistake == .keepsInterestOfDroppedTokens { return }
    _ = propagation([Start(node: tokens[token].future, request: nil, detaches: true)])
  }

  // MARK: - Handlers

  mutating func install(_ handler: Handler) {
    let promise = handler.future
    handlers.append(handler)
    guard nodes[promise].outcome == nil, !nodes[promise].isSealed else { return }
    guard let asked = nodes[promise].asked else { return nodes[promise].handlers.append(handlers.count - 1) }
    tally[.nothingLost] += 1  // Law 8 (no request is lost): the handler receives an earlier request.
    nodes[promise].hasDelivered = true
    start(handlers.count - 1, asked)
  }

  mutating func endHandler(_ handler: Int) {
    handlers[handler].isEnded = true
    nodes[handlers[handler].future].handlers.removeAll { $0 == handler }
  }

  /// Completes the future later through the request that a handler received. Law 7 (handlers answer).
  mutating func answerLater(_ handler: Int, _ completion: ModelCompletion) -> Bool? {
    guard let request = handlers[handler].received else { return nil }
    tally[.answers] += 1
    return complete(handlers[handler].future, completion, answering: request)
  }

  mutating func start(_ handler: Int, _ request: ModelRequest) {
    if handlers[handler].isOnExecutor { jobs.append(.handler(handler, request)) } else { call(handler, request) }
  }

  mutating func call(_ handler: Int, _ request: ModelRequest) {
    // The laws are silent: a handler that was removed while it was queued is not called.
    guard !handlers[handler].isEnded else { return }
    tally[.answers] += 1
    handlers[handler].received = request
    events.append(ModelEvent(kind: .handler, id: handler, request: request, outcome: nil))
    perform(handlers[handler].act)
    if case .complete(let completion) = handlers[handler].answer {
      _ = complete(handlers[handler].future, completion, answering: request)
    }
  }
}
