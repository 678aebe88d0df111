import Foundation

extension LoopbackServerError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension LoopbackWaitError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension MockVerificationError: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension UnexpectedRequest: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
