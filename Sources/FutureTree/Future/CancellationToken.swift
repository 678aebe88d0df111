/// Hears when a `CancellationTokenSource` is cancelled.
///
/// ```swift
/// func fill(_ url: URL, until token: CancellationToken) {
///   let download = session.download(url)
///   let registration = token.register { _ in download.stop() }
///   download.whenDone = { registration.remove() }
/// }
/// ```
///
/// Copies are the same token and compare equal. A token that lives long holds what is registered now, not what ever was
/// (law 21). It can be used from any thread and from inside any callback.
public struct CancellationToken: Sendable {
  /// Nil in the token that is never cancelled.
  let source: CancellationTokenSource?

  /// A token that is never cancelled. What is registered with it is released at once.
  public static let never = CancellationToken(source: nil)

  /// Whether its source was cancelled.
  public var isCancelling: Bool { reason != nil }

  /// Why its source was cancelled, and which line did it; nil while it was not.
  public var reason: CancellationReason? { source?.state.currentReason }
}

// MARK: - Registering

extension CancellationToken {
  /// Calls `body` with the reason when the source is cancelled; now, if that has happened.
  ///
  /// ```swift
  /// let registration = token.register { reason in download.stop() }
  /// ```
  ///
  /// A body runs once at most, outside every lock, on the thread that cancels: it should be short. A body that captures
  /// this token keeps itself alive until the source is cancelled or the registration is removed.
  ///
  /// - Returns: A handle that removes the registration. Dropping the handle removes nothing.
  /// - Complexity: O(1).
  @discardableResult
  public func register(_ body: @escaping @Sendable (_ reason: CancellationReason) -> Void) -> CancellationRegistration {
    // A state without a source leaves its parents: the source must live until the body is listed.
    withExtendedLifetime(source) {
      source?.state.register(body) ?? CancellationRegistration(entry: nil, state: nil)
    }
  }
}

/// What was registered with a `CancellationToken`.
///
/// The handle keeps neither the token nor its source alive, and after `remove()` or the cancel not the body either.
public struct CancellationRegistration: Sendable {
  let entry: CancellationEntry?
  let state: CancellationTokenState?

  /// Removes the registration: a body that has not begun does not begin any more.
  ///
  /// It does not wait for a body that has begun, so it can be called from inside that body.
  ///
  /// - Returns: `false` if there is nothing to remove: the cancel took the body before, on this or on another thread, or
  ///   the registration was removed before.
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
  /// What it knows, such as `CancellationToken(cancelled: memory is short (App/Cache.swift:12))`.
  public var description: String { "CancellationToken(\(stateDescription))" }

  var stateDescription: String {
    guard source != nil else { return "never" }
    return reason.map { "cancelled: \($0)" } ?? "not cancelled"
  }
}
