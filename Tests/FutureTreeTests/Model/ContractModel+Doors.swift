// Tokens and handlers (laws 7 to 9 and 13).

extension ContractModel {
  // MARK: - Asking

  /// A future asks as nobody, a token as itself.
  mutating func cancel(_ future: Int, _ request: ModelRequest, token: Int? = nil) -> ModelReceipt {
    if let outcome = nodes[future].outcome {
      tally[.receipt] += 1
      return ModelReceipt(effect: .tooLate(ending: outcome.ending), reached: 1)
    }
    var leaves = false
    if let token {
      leaves = tokens[token].wants
      tokens[token].wants = false  // Law 3: a token that asked wants no longer.
    }
    return propagation([Start(node: future, request: request, leaves: leaves)])
  }

  mutating func takeToken(_ future: Int) {
    tokens.append(Token(future: future, wants: nodes[future].outcome == nil))
    want(future)
  }

  mutating func cancelToken(_ token: Int, _ request: ModelRequest) -> ModelReceipt {
    cancel(tokens[token].future, request, token: token)
  }

  /// Law 13: dropping a token is no request.
  mutating func dropToken(_ token: Int) {
    tokens[token].isAlive = false
    guard tokens[token].wants, nodes[tokens[token].future].outcome == nil else { return }
    tokens[token].wants = false
    tally[.tokens] += 1
    if mistake == .keepsInterestOfDroppedTokens { return }
    _ = propagation([Start(node: tokens[token].future, request: nil, leaves: true)])
  }

  // MARK: - Handlers

  mutating func install(_ handler: Handler) {
    let promise = handler.future
    handlers.append(handler)
    guard nodes[promise].outcome == nil, !nodes[promise].isSealed else { return }
    guard let asked = nodes[promise].asked else { return nodes[promise].handlers.append(handlers.count - 1) }
    tally[.nothingLost] += 1  // Law 8: a request that came before is given to it.
    nodes[promise].isHeard = true
    start(handlers.count - 1, asked)
  }

  mutating func endHandler(_ handler: Int) {
    handlers[handler].isEnded = true
    nodes[handlers[handler].future].handlers.removeAll { $0 == handler }
  }

  /// Law 7: the request that a handler received completes its future later.
  mutating func answerLater(_ handler: Int, _ completion: ModelCompletion) -> Bool? {
    guard let request = handlers[handler].received else { return nil }
    tally[.answers] += 1
    return complete(handlers[handler].future, completion, answering: request)
  }

  mutating func start(_ handler: Int, _ request: ModelRequest) {
    if handlers[handler].isOnExecutor { jobs.append(.handler(handler, request)) } else { call(handler, request) }
  }

  mutating func call(_ handler: Int, _ request: ModelRequest) {
    // The laws are silent: a handler that was ended while it was queued is not called.
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
