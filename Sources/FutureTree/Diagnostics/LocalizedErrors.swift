// `localizedDescription` of errors, which alerts and logs show, returns the same text as `description`. Without these
// conformances, Foundation derives a text from the name of the type.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension AllFailed: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension BrokenPromise: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension CompletedWithItself: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension DroppedJob: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension FutureCancelled: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension InvalidArgument: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension ReportedNothing: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension ScopeEnded: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension TimeoutError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension UndoFailed: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension WaitsForOwnQueue: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension WaitWouldHang: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

#if canImport(Combine)
  extension FinishedWithoutValue: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
  }
#endif
