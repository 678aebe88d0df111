/// A file and line of source code.
public struct CodeLocation: Sendable, Hashable, Codable {
  /// The file, as `Module/File.swift`.
  public let fileID: String
  /// The line, counted from 1.
  public let line: UInt

  /// Creates a location, such as `CodeLocation(fileID: #fileID, line: #line)`.
  public init(fileID: String, line: UInt) {
    self.fileID = fileID
    self.line = line
  }
}

extension CodeLocation: CustomStringConvertible {
  /// File and line, such as `App/Feed.swift:42`.
  public var description: String { "\(fileID):\(line)" }
}
