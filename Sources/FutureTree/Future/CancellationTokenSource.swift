/// An object that cancels many operations through its tokens.
///
/// ```swift
/// let source = CancellationTokenSource()
/// for url in urls { cache.fill(url, until: source.token) }
/// source.cancel(reason: "memory is short")
/// ```
///
/// Only the source can be cancelled; its tokens report the cancellation. The first call to `cancel` takes effect, and
/// a source cannot be reused after that. Dropping a source cancels nothing. The bodies registered with its tokens are
/// released, because no code can cancel them anymore.
///
/// A `CancelToken` is different: it belongs to one future and asks that future to cancel. `future.cancel(when: token)`
/// connects the two.
///
/// A source can be used from any thread and from inside any callback.
public final class CancellationTokenSource: Sendable {
  /// The state that the source shares with its tokens. The source notifies it when no code can register anymore.
  let state: CancellationTokenState

  /// Creates a source that is not linked to any token.
  public init() {
    state = CancellationTokenState()
  }

  /// Creates a source that is also cancelled, with the same reason, when one of the given tokens is cancelled.
  ///
  /// ```swift
  /// let page = CancellationTokenSource(linkedTo: [app.shutdown, session.token])
  /// ```
  ///
  /// The source unlinks from those tokens when it is cancelled. It also unlinks when it and its own tokens have been
  /// deallocated and no registration or linked source is left. Cancelling this source does not cancel those tokens.
  ///
  /// - Complexity: O(tokens).
  public init(linkedTo tokens: [CancellationToken]) {
    // A state whose source is deallocated detaches from its parents. The sources must live until this one is listed.
    state = withExtendedLifetime(tokens) {
      CancellationTokenState(linkedTo: tokens.compactMap { $0.source?.state })
    }
  }

  deinit {
    state.sourceWasDropped()
  }

  /// The token to pass to operations. Every call returns the same token.
  public var token: CancellationToken { CancellationToken(source: self) }

  /// Whether this source, or a source that it is linked to, was cancelled.
  public var isCancelling: Bool { state.currentReason != nil }

  /// Cancels the tokens of this source, and of all sources linked to it.
  ///
  /// First every source that the call reaches is marked as cancelled. Then the registered bodies run on this thread,
  /// outside every lock. All bodies have run when the call returns. Their order is:
  ///
  /// - Bodies of one source run in reverse order of registration, so the resource acquired last is released first.
  /// - Bodies of a source run before the bodies of the sources linked to it.
  ///
  /// - Parameters:
  ///   - reason: The reason. If it has no file and line, it receives those of this call.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Returns: `false` if the source was cancelled before. Then nothing changes.
  /// - Complexity: O(registrations + linked sources), in constant stack.
  @discardableResult
  public func cancel(reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line) -> Bool {
    state.cancel((reason ?? .unspecified).asked(fileID: fileID, line: line))
  }
}

extension CancellationTokenSource: CustomStringConvertible {
  public var description: String { "CancellationTokenSource(\(token.stateDescription))" }
}
