/// The error of a future that was created with an invalid argument, such as a negative duration.
///
/// ```swift
/// let page = load().timeout(after: deadline - now)  // The deadline has passed: the future fails with `InvalidArgument`.
/// ```
///
/// The library neither traps on an invalid duration nor silently replaces it.
public struct InvalidArgument: Error, Hashable, CustomStringConvertible {
  /// The function that was called, such as `timeout(after:)`.
  public let function: String
  /// The invalid argument, and what to pass instead.
  public let problem: String
  /// The file of the call, as `Module/File.swift`.
  public let fileID: String
  /// The line of the call.
  public let line: UInt

  package init(_ function: String, _ problem: String, fileID: String, line: UInt) {
    self.function = function
    self.problem = problem
    self.fileID = fileID
    self.line = line
  }

  public var description: String { "`\(function)` at \(fileID):\(line) has an invalid argument: \(problem)" }
}

extension InvalidArgument {
  /// Returns an error if the duration is negative, otherwise `nil`.
  @usableFromInline
  static func negative(_ duration: Duration, in function: String, fileID: String, line: UInt) -> InvalidArgument? {
    guard duration < .zero else { return nil }
    return InvalidArgument(
      function,
      "the duration is negative (\(duration.rounded)). Pass zero or a positive duration.",
      fileID: fileID, line: line)
  }
}
