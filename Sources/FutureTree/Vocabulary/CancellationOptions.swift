/// How far a request to cancel goes.
///
/// ```swift
/// comments.cancel()                                // Ask everything that `comments` depends on now.
/// comments.cancel(.doNotForwardIfOthersWaiting)    // Stop where somebody else still wants the value.
/// comments.cancel(.doNotForwardRequest)            // This future only.
/// comments.cancel([.forceImmediately])             // Do not wait for what comes back.
/// ```
///
/// The options order requests by strength: `doNotForwardRequest` is weaker than `doNotForwardIfOthersWaiting`,
/// and that is weaker than no option. A future that was asked ignores what is not stronger; `forceImmediately`
/// is never ignored while the future is pending (laws 2 to 5 and 9 of the cancellation contract).
public struct CancellationOptions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// This future only: a derived future lets go of its upstream, which is not asked (law 4).
  public static let doNotForwardRequest = CancellationOptions(rawValue: 1 << 0)

  /// The request stops at the first future that somebody other than the requester wants, the target included (law 3).
  public static let doNotForwardIfOthersWaiting = CancellationOptions(rawValue: 1 << 1)

  /// The target completes `.cancelled` now, whatever its handlers answer (law 5).
  public static let forceImmediately = CancellationOptions(rawValue: 1 << 2)
}

extension CancellationOptions {
  /// How far a request may be forwarded, without regard to force.
  enum Reach: Comparable {
    case thisFuture, unlessOthersWait, everything
  }

  var reach: Reach {
    if contains(.doNotForwardRequest) { return .thisFuture }
    return contains(.doNotForwardIfOthersWaiting) ? .unlessOthersWait : .everything
  }

  var isForced: Bool { contains(.forceImmediately) }
}

extension CancellationOptions: CustomStringConvertible {
  /// The names of the options, such as `[doNotForwardRequest, forceImmediately]`.
  public var description: String {
    "[\(CancellationOptions.names.filter { contains($0.option) }.map(\.name).joined(separator: ", "))]"
  }

  static let names: [(option: CancellationOptions, name: String)] = [
    (.doNotForwardRequest, "doNotForwardRequest"),
    (.doNotForwardIfOthersWaiting, "doNotForwardIfOthersWaiting"),
    (.forceImmediately, "forceImmediately"),
  ]
}
