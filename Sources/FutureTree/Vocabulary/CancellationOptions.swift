/// Options that limit how far a cancellation request is forwarded, or that force its effect.
///
/// ```swift
/// comments.cancel()                                // Ask every future that `comments` depends on now.
/// comments.cancel(.doNotForwardIfOthersWaiting)    // Stop where other consumers have interest.
/// comments.cancel(.doNotForwardRequest)            // This future only.
/// comments.cancel([.forceImmediately])             // Do not wait for the outcome of the upstream.
/// ```
///
/// The options order requests by strength, from weak to strong: `doNotForwardRequest`, `doNotForwardIfOthersWaiting`, no
/// option. A future that has received a request ignores later requests that are not stronger. A pending future never
/// ignores `forceImmediately`. See <doc:Cancellation#Handlers-run>.
public struct CancellationOptions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Asks only this future to cancel. A derived future detaches from its upstream, which does not receive the request. See
  /// <doc:Cancellation#This-future-only>.
  public static let doNotForwardRequest = CancellationOptions(rawValue: 1 << 0)

  /// Stops the request at the first future in which a consumer other than the requester has interest, including the
  /// target. See <doc:Cancellation#Stopping-where-others-wait>.
  public static let doNotForwardIfOthersWaiting = CancellationOptions(rawValue: 1 << 1)

  /// Completes the target as `.cancelled` now, regardless of the answers of its handlers. See <doc:Cancellation#Force>.
  public static let forceImmediately = CancellationOptions(rawValue: 1 << 2)
}

extension CancellationOptions {
  /// The distance that a request may be forwarded, regardless of force.
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
