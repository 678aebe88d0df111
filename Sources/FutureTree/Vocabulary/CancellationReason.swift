/// Why a future was cancelled: a message, and the place in the code that asked.
///
/// ```swift
/// branch.cancel(reason: "the user closed the tab")
/// ```
///
/// The reason travels with the request: handlers receive it, and `.cancelled` outcomes carry it (law 18).
/// `cancel` adds the file and the line of its own call to a reason that names none, so a string literal is enough there.
public struct CancellationReason: Sendable {
  private let storage: Storage

  /// Creates a reason that names the place where it is written.
  public init(_ message: String, fileID: String = #fileID, line: UInt = #line) {
    storage = Storage(message: message, fileID: fileID, line: line)
  }

  /// What the requester said.
  public var message: String { storage.message }

  /// The file that asked, as `Module/File.swift`; empty where the reason is a literal that no request stamped.
  public var fileID: String { storage.fileID }

  /// The line that asked, counted from 1; 0 where the reason is a literal that no request stamped.
  public var line: UInt { storage.line }

  /// One object, so passing a reason through a tree of a million futures copies no strings. A `CancelRequest` refers to the same
  /// object, so it costs one allocation.
  final class Storage: Sendable {
    let message: String
    let fileID: String
    let line: UInt
    /// The options of the request, if this is the object of a request.
    let options: CancellationOptions

    init(message: String, fileID: String, line: UInt, options: CancellationOptions = []) {
      self.message = message
      self.fileID = fileID
      self.line = line
      self.options = options
    }
  }

  init(_ storage: Storage) {
    self.storage = storage
  }

  /// Creates the object of a new request with this reason.
  func storage(with options: CancellationOptions) -> Storage {
    Storage(message: message, fileID: fileID, line: line, options: options)
  }
}

extension CancellationReason {
  /// Stands for "the reason of the request that led here", until a future that was asked puts that in its place.
  @usableFromInline static let unspecified = CancellationReason(unspecifiedMessage, fileID: "", line: 0)

  static var unspecifiedMessage: String { "no reason given" }

  var isUnspecified: Bool { storage === CancellationReason.unspecified.storage }

  /// The same reason with the place that asked, if it has none yet: a reason that is passed on keeps who asked first.
  func asked(fileID: String, line: UInt) -> CancellationReason {
    self.fileID.isEmpty ? CancellationReason(message, fileID: fileID, line: line) : self
  }
}

extension CancellationReason: Hashable {
  public static func == (left: CancellationReason, right: CancellationReason) -> Bool {
    left.storage === right.storage
      || (left.message == right.message && left.fileID == right.fileID && left.line == right.line)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(message)
    hasher.combine(fileID)
    hasher.combine(line)
  }
}

extension CancellationReason: ExpressibleByStringInterpolation {
  /// Creates a reason without a place: `cancel` adds its own.
  public init(stringLiteral message: String) {
    self.init(message, fileID: "", line: 0)
  }
}

extension CancellationReason: CustomStringConvertible {
  /// The message and, where it is known, the place: `the user left (App/Feed.swift:42)`.
  public var description: String {
    fileID.isEmpty ? message : "\(message) (\(fileID):\(line))"
  }
}
