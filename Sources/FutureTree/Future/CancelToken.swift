/// A consumer of a future that can ask the future to cancel.
///
/// ```swift
/// let token = upload.cancelToken()
/// closeButton.action = { token.cancel(reason: "the user closed the window") }
/// ```
///
/// A live token has interest in the future, so requests with `doNotForwardIfOthersWaiting` stop there. A token that has
/// requested cancellation no longer has interest. Dropping a token withdraws its interest without requesting cancellation.
/// If the token was the last consumer, and other consumers had requested cancellation before, the withheld request is
/// delivered. See <doc:Cancellation#Tokens>.
///
/// A ``CancellationToken`` has the opposite task: any number of operations read it.
/// <doc:Cancellation#One-token-for-many-futures> compares them.
///
/// A token retains its future only while the future is pending. It never retains the outcome.
public final class CancelToken: Sendable {
  private let entry: TokenEntry

  init(_ node: Node) {
    entry = TokenEntry(node)
    if !node.attach(entry, isConsumer: true) { entry.end(with: node) }
  }

  deinit {
    if case .pending(let node) = entry.target { node.endInterest(entry) }
  }

  /// Asks the future to cancel. The request is attributed to this token as a consumer.
  ///
  /// - Returns: A receipt that reports what happened to the request.
  /// - Complexity: O(n) in the number of futures and edges that the request reaches.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    switch entry.target {
    case .ended(let ending):
      return CancelReceipt(effect: .tooLate(ending), reached: 1, handlers: 0, activityMet: nil)
    case .pending(let node):
      let request = CancelRequest(options: options, reason: reason, fileID: fileID, line: line)
      return CancellationPropagation.run(Signal(node: node, request: request, sender: entry, departure: .losesInterest))
    }
  }

  /// Returns the receipt that `cancel` would return, without side effects. See <doc:Cancellation#Receipts>.
  public func previewCancel(_ options: CancellationOptions = []) -> CancelReceipt {
    switch entry.target {
    case .ended(let ending):
      return CancelReceipt(effect: .tooLate(ending), reached: 1, handlers: 0, activityMet: nil)
    case .pending(let node):
      let request = CancelRequest(options: options, reason: .unspecified)
      return CancellationPropagation.preview(
        Signal(node: node, request: request, sender: entry, departure: .losesInterest))
    }
  }

  /// The future, while it is pending.
  var pendingNode: Node? {
    if case .pending(let node) = entry.target { node } else { nil }
  }

  /// Calls a closure when the future completes. `CancelBag` uses it to remove the token.
  func whenCompleted(_ body: @escaping @Sendable () -> Void) -> FutureObservation? {
    guard let node = pendingNode else {
      body()
      return nil
    }
    return FutureObservation(observer: NodeObserver(of: node) { _ in body() })
  }
}

/// The entry of a token in the waiter list of its future: a consumer until the token requests, and an observer afterward.
private final class TokenEntry: Waiter, @unchecked Sendable {  // Because: `lock` guards the target.
  enum Target {
    case pending(Node)
    case ended(Ending)
  }

  private let lock = Lock()
  @exclusivity(unchecked) private var current: Target

  var target: Target { lock.withLock { current } }

  init(_ node: Node) {
    current = .pending(node)
    super.init { entry, node, _ in
      unsafeDowncast(entry, to: TokenEntry.self).end(with: node)
      return false
    }
  }

  func end(with node: Node) {
    let ending = node.endingOnceEnded
    lock.release {
      defer { current = .ended(ending) }
      return current
    }
  }
}

extension Future {
  /// Returns a token: a consumer of this future that can ask the future to cancel.
  public func cancelToken() -> CancelToken {
    CancelToken(node)
  }
}
