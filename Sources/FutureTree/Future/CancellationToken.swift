/// A value that reports when its `CancellationTokenSource` is cancelled.
///
/// ```swift
/// func fill(_ url: URL, until token: CancellationToken) {
///   let download = session.download(url)
///   let registration = token.register { _ in download.stop() }
///   download.whenDone = { registration.remove() }
/// }
/// ```
///
/// It cancels nothing itself. A ``CancelToken`` asks one future to cancel. <doc:Cancellation#One-token-for-many-futures> compares
/// them.
///
/// Copies are the same token and compare equal. A long-lived token holds only the registrations that have not been removed.
/// See <doc:Cancellation#Bounded-memory>. A token can be used from any thread and from inside any callback.
public struct CancellationToken: Sendable {
  /// The source, or `nil` in the token that is never cancelled.
  let source: CancellationTokenSource?

  /// A token that is never cancelled. A body that is registered with it is released at once.
  public static let never = CancellationToken(source: nil)

  /// Whether the source of this token was cancelled.
  public var isCancelling: Bool { reason != nil }

  /// The reason, file and line of the cancellation, or `nil` while the source is not cancelled.
  public var reason: CancellationReason? { source?.state.currentReason }
}

// MARK: - Registering

extension CancellationToken {
  /// Registers a body that receives the reason when the source is cancelled. If the source is already cancelled, the body
  /// is called now.
  ///
  /// ```swift
  /// let registration = token.register { reason in download.stop() }
  /// ```
  ///
  /// A body runs at most once, outside every lock, on the cancelling thread. Keep it short. A body that captures this token
  /// keeps itself alive until the source is cancelled or the registration is removed.
  ///
  /// - Returns: A handle that removes the registration. Dropping the handle removes nothing.
  /// - Complexity: O(1).
  @discardableResult
  public func register(_ body: @escaping @Sendable (_ reason: CancellationReason) -> Void) -> CancellationRegistration {
    // A state whose source is deallocated detaches from its parents. The source must live until the body is listed.
    withExtendedLifetime(source) {
      source?.state.register(body) ?? CancellationRegistration(entry: nil, state: nil)
    }
  }
}

/// A handle that removes a body registered with a `CancellationToken`.
///
/// The handle does not retain the token or its source. After `remove()` or the cancellation it does not retain the body.
public struct CancellationRegistration: Sendable {
  let entry: CancellationEntry?
  let state: CancellationTokenState?

  /// Removes the registration. If the body has not begun, it does not begin.
  ///
  /// The call does not wait for a body that has begun, so it can be called from inside that body.
  ///
  /// - Returns: `false` if there is nothing to remove: the cancellation already took the body, on this or another thread,
  ///   or the registration was removed before.
  /// - Complexity: O(1).
  @discardableResult
  public func remove() -> Bool {
    guard let entry, let state else { return false }
    return state.remove(entry)
  }
}

// MARK: - Comparing and printing

extension CancellationToken: Hashable {
  public static func == (left: CancellationToken, right: CancellationToken) -> Bool { left.source === right.source }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(source.map(ObjectIdentifier.init))
  }
}

extension CancellationToken: CustomStringConvertible {
  /// The state of the token, such as `CancellationToken(cancelled: memory is short (App/Cache.swift:12))`.
  public var description: String { "CancellationToken(\(stateDescription))" }

  var stateDescription: String {
    guard source != nil else { return "never" }
    return reason.map { "cancelled: \($0)" } ?? "not cancelled"
  }
}
