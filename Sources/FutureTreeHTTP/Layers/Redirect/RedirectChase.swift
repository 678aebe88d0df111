import FutureTree

/// One load, from its first request to its last response, with all redirects.
///
/// Each request has its own future, and the future of the previous request waits for it. A cancellation request therefore
/// reaches the request in flight. Law 20 (any depth): any number of responses that are available immediately are followed
/// in constant stack space.
struct RedirectChase: Sendable {
  private let next: any HTTPLoader
  private let limit: Int
  private let policy: Redirect.Policy
  private let progress = Locked((trail: [Redirection](), told: HTTPProgress()))

  init(over next: any HTTPLoader, limit: Int, _ policy: Redirect.Policy) {
    self.next = next
    self.limit = limit
    self.policy = policy
  }

  /// - Parameter first: The future of the first request, which the caller has. It records a cancellation request before
  ///   all others.
  func begin(_ request: HTTPRequest, after first: Future<HTTPResponse>? = nil) -> Future<HTTPResponse> {
    let sent = reporting(request)
    return next.load(sent).completed { outcome, hop in
      guard case .success(let response) = outcome else { return Completion(outcome) }
      return try goOn(from: request, restored(response, request, sent: sent), outer: first ?? hop)
    }
  }

  private func goOn(
    from request: HTTPRequest, _ response: HTTPResponse, outer: Future<HTTPResponse>
  ) throws -> Completion<HTTPResponse> {
    guard RedirectRules.apply(to: response) else { return .success(finished(response, request)) }
    if let asked = outer.cancelRequest { return .cancelled(asked.reason) }
    let number = progress.withLock { $0.trail.count } + 1
    let proposed = try naming(response, request) { () throws(HTTPError) in
      guard number <= limit else { throw exceeded(response) }
      return try RedirectRules.request(after: request, answeredWith: response)
    }
    let decision = try policy.decide(Redirect.Proposal(response: response, request: proposed, number: number))
    if let asked = outer.cancelRequest { return .cancelled(asked.reason) }
    guard case .follow(let decided) = decision else { return .success(finished(response, request)) }
    let following = try naming(response, request) { () throws(HTTPError) in
      try RedirectRules.checked(decided, after: request, answeredWith: response)
    }
    remember(response, request)
    return .completeUsing(begin(following, after: outer).named(.hop))
  }

  private func remember(_ response: HTTPResponse, _ request: HTTPRequest) {
    guard let url = request.url ?? response.request.url else { return }
    progress.withLock { $0.trail.append(Redirection(method: request.method, url: url, status: response.status)) }
  }

  private func exceeded(_ response: HTTPResponse) -> HTTPError {
    HTTPError(
      .tooManyRedirects,
      "\(RedirectRules.story(of: response)) after the limit of \(limit) redirects. See "
        + "`response?.redirections`, or raise the limit.")
  }

  /// Adds the response to an error of the rules.
  private func naming<Value>(
    _ response: HTTPResponse, _ request: HTTPRequest, _ rule: () throws(HTTPError) -> Value
  ) throws(HTTPError) -> Value {
    do throws(HTTPError) {
      return try rule()
    } catch {
      throw error.replacingResponse(finished(response, request))
    }
  }

  /// Returns the response with the redirects that led to it, and with the caller's progress handler in its request. This
  /// is called only at the end of a load, so that the list of redirects is not copied at each step.
  private func finished(_ response: HTTPResponse, _ request: HTTPRequest) -> HTTPResponse {
    let handler = response.request.sharesStorage(with: request) ? nil : request[option: ProgressHandler.self]
    let trail = progress.withLock { $0.trail }
    guard handler != nil || !trail.isEmpty else { return response }
    var sent = response.request
    if handler != nil { sent[option: ProgressHandler.self] = handler }
    if !trail.isEmpty { sent[option: RedirectTrail.self] = trail }
    return response.answering(sent)
  }
}

// MARK: - Progress

extension RedirectChase {
  /// Returns the request with a handler that combines the progress of all transfers into one.
  private func reporting(_ request: HTTPRequest) -> HTTPRequest {
    guard let handler = request[option: ProgressHandler.self] else { return request }
    var request = request
    request[option: ProgressHandler.self] = { [progress] new in
      handler(
        progress.withLock { progress in
          progress.told = new.notLess(than: progress.told)
          return progress.told
        })
    }
    return request
  }

  /// Returns the response with the request as it was before `reporting`, if the response contains the sent request. It
  /// reuses that request and does not copy it as `finished` does.
  private func restored(_ response: HTTPResponse, _ request: HTTPRequest, sent: HTTPRequest) -> HTTPResponse {
    guard !sent.sharesStorage(with: request), response.request.sharesStorage(with: sent) else { return response }
    return response.answering(request)
  }
}

extension HTTPProgress {
  /// Returns the progress of this transfer and an earlier one, combined as the progress of one transfer.
  ///
  /// A body that is sent again is not counted twice. A body that is not sent again counts as sent. The received bytes are
  /// those of the last response, but never fewer than before.
  package func notLess(than before: HTTPProgress) -> HTTPProgress {
    var progress = self
    if sent.completed < before.sent.completed { progress.sent = before.sent }
    progress.received.completed = max(received.completed, before.received.completed)
    progress.received.total = received.total.map { max($0, progress.received.completed) }
    return progress
  }
}

extension FutureName {
  fileprivate static let hop = FutureName("hop")
}
