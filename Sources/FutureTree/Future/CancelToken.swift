/// A consumer of a future that can ask it to cancel.
///
/// ```swift
/// let token = upload.cancelToken()
/// closeButton.action = { token.cancel(reason: "the user closed the window") }
/// ```
///
/// While a token lives, the future is wanted: requests with `doNotForwardIfOthersWaiting` stop there. A token that asked
/// wants no longer. Dropping a token withdraws its interest and is not a request; if others asked before and it was the
/// last consumer, what was withheld is delivered (law 13).
///
/// A token holds its future only while that is pending, and never its outcome.
public final class CancelToken: Sendable {
  private enum Target {
    case pending(Node)
    case ended(Ending)
  }

  private let target: Locked<Target>
  private let interest = Interest()
  private let observation: FutureObservation

  init(_ node: Node) {
    node.beginInterest(interest)
    let target = Locked(Target.pending(node))
    self.target = target
    observation = FutureObservation(
      observer: NodeObserver(of: node) { node in
        guard let ending = node.state.ending else { return }
        let previous = target.withLock { target in
          defer { target = .ended(ending) }
          return target
        }
        _ = previous  // Freed here, not under the lock.
      })
  }

  deinit {
    observation.remove()
    if case .pending(let node) = target.value { node.endInterest(interest) }
  }

  /// Asks the future to cancel, as the consumer that this token is.
  ///
  /// - Returns: what the request met on its way.
  /// - Complexity: O(futures + edges) that the request reaches.
  @discardableResult
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) -> CancelReceipt {
    switch target.value {
    case .ended(let ending):
      return CancelReceipt(effect: .tooLate(ending), reached: 1, handlers: 0)
    case .pending(let node):
      let reason = (reason ?? .unspecified).asked(fileID: fileID, line: line)
      let request = CancelRequest(options: options, reason: reason)
      return CancellationPropagation.run(Signal(node: node, request: request, sender: interest, departure: .leaves))
    }
  }

  /// Says what `cancel` would come to if this token asked now, and does nothing (law 17).
  public func previewCancel(_ options: CancellationOptions = []) -> CancelReceipt {
    switch target.value {
    case .ended(let ending):
      return CancelReceipt(effect: .tooLate(ending), reached: 1, handlers: 0)
    case .pending(let node):
      let request = CancelRequest(options: options, reason: .unspecified)
      return CancellationPropagation.preview(
        Signal(node: node, request: request, sender: interest, departure: .leaves))
    }
  }

  /// Calls a closure when the future has completed. For bags, which hold no token longer than that.
  func whenCompleted(_ body: @escaping @Sendable () -> Void) -> FutureObservation? {
    guard case .pending(let node) = target.value else {
      body()
      return nil
    }
    return FutureObservation(observer: NodeObserver(of: node) { _ in body() })
  }

  /// What is counted for a token: an entry that is in no list.
  private final class Interest: Waiter, @unchecked Sendable {  // Because: see `Waiter`.
    init() { super.init { _, _, _ in false } }
  }
}

extension Future {
  /// Returns a token: a consumer of this future that can ask it to cancel.
  public func cancelToken() -> CancelToken {
    CancelToken(node)
  }
}
