/// One wish to stop that many operations hear.
///
/// ```swift
/// let source = CancellationTokenSource()
/// for url in urls { cache.fill(url, until: source.token) }
/// source.cancel(reason: "memory is short")
/// ```
///
/// The source says it; its tokens hear it. The first cancel wins, and a source cannot be used again after it. Dropping a
/// source cancels nothing: what is registered with its tokens is released, because nobody can say it any more.
///
/// A `CancelToken` is the opposite: it asks one future, and belongs to it. `future.cancel(when: token)` joins the two.
///
/// It can be used from any thread and from inside any callback.
public final class CancellationTokenSource: Sendable {
  /// What its tokens hear, which hold this source. It is told when nobody is left who could register.
  let state: CancellationTokenState

  /// A source of its own.
  public init() {
    state = CancellationTokenState()
  }

  /// A source that is also cancelled when one of these tokens is, with the reason that was given there.
  ///
  /// ```swift
  /// let page = CancellationTokenSource(linkedTo: [app.shutdown, session.token])
  /// ```
  ///
  /// It leaves the lists of those tokens when it is cancelled, or when neither the source, nor one of its tokens, nor
  /// anything that is registered with them is left. Cancelling it leaves those tokens alone.
  ///
  /// - Complexity: O(tokens).
  public init(linkedTo tokens: [CancellationToken]) {
    // A state without a source leaves its parents: the sources must live until this one is listed.
    state = withExtendedLifetime(tokens) {
      CancellationTokenState(linkedTo: tokens.compactMap { $0.source?.state })
    }
  }

  deinit {
    state.sourceWasDropped()
  }

  /// What operations are given: the same token each time.
  public var token: CancellationToken { CancellationToken(source: self) }

  /// Whether this source, or one that it is linked to, was cancelled.
  public var isCancelling: Bool { state.currentReason != nil }

  /// Cancels the tokens of this source, and of all sources linked to it.
  ///
  /// First every source that this reaches is marked as cancelled. Then the registered bodies run on this thread, outside every
  /// lock: those of one source in the reverse order of their registration, so that the resource that was acquired last is
  /// released first; and those of a source before those of the sources linked to it. All have run when this returns.
  ///
  /// - Parameters:
  ///   - reason: why; it gets the file and the line of this call, if it has none.
  ///   - fileID: the file that cancels.
  ///   - line: the line that cancels.
  /// - Returns: `false` if it was cancelled before. Then nothing changes.
  /// - Complexity: O(registrations + linked sources), in constant stack.
  @discardableResult
  public func cancel(reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line) -> Bool {
    state.cancel((reason ?? .unspecified).asked(fileID: fileID, line: line))
  }
}

extension CancellationTokenSource: CustomStringConvertible {
  public var description: String { "CancellationTokenSource(\(token.stateDescription))" }
}
