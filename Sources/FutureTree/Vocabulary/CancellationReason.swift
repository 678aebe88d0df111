/// The reason for a cancellation: a message, and the file and line of the request.
///
/// ```swift
/// branch.cancel(reason: "the user closed the tab")
/// ```
///
/// Handlers receive the reason, and `.cancelled` outcomes carry it. See <doc:Cancellation#Provenance>. `cancel` adds the
/// file and line of its call to a reason without a location. A string literal is therefore sufficient.
public struct CancellationReason: Sendable {
  private let storage: Storage

  /// Creates a reason with the file and line of this call.
  public init(_ message: String, fileID: String = #fileID, line: UInt = #line) {
    storage = Storage(message: message, fileID: fileID, line: line)
  }

  /// The message of the requester.
  public var message: String { storage.message }

  /// The file of the request, as `Module/File.swift`. Empty if the reason is a literal without a location.
  public var fileID: String { storage.fileID }

  /// The line of the request, counted from 1. 0 if the reason is a literal without a location.
  public var line: UInt { storage.line }

  /// One reference, so that passing a reason through a large tree copies no strings. A cancellation request is the same
  /// object, so a request costs one allocation.
  final class Storage: Sendable {
    let message: String
    let fileID: String
    let line: UInt
    /// The options of the request, if this object is a request.
    let options: CancellationOptions
    /// Whether the request had the force further downstream.
    let wasForced: Bool

    init(
      message: String, fileID: String, line: UInt, options: CancellationOptions = [], wasForced: Bool = false
    ) {
      self.message = message
      self.fileID = fileID
      self.line = line
      self.options = options
      self.wasForced = wasForced
    }
  }

  init(_ storage: Storage) {
    self.storage = storage
  }

  /// Returns the storage of a new request with this reason.
  func storage(with options: CancellationOptions, wasForced: Bool = false) -> Storage {
    Storage(message: message, fileID: fileID, line: line, options: options, wasForced: wasForced)
  }
}

extension CancellationReason {
  /// A placeholder for the reason for the received request. The future that was asked replaces it.
  @usableFromInline static let unspecified = CancellationReason(unspecifiedMessage, fileID: "", line: 0)

  static var unspecifiedMessage: String { "no reason given" }

  var isUnspecified: Bool { storage === CancellationReason.unspecified.storage }

  /// Returns this reason with the given location if it has none. A reason that is passed on keeps its first location.
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
  /// Creates a reason without a location. `cancel` adds its own.
  public init(stringLiteral message: String) {
    self.init(message, fileID: "", line: 0)
  }
}

extension CancellationReason: CustomReflectable {
  /// The message, the file and the line.
  public var customMirror: Mirror { Mirror(self, children: ["message": message, "fileID": fileID, "line": line]) }
}

extension CancellationReason: CustomStringConvertible {
  /// The message and, if known, the location: `the user left (App/Feed.swift:42)`.
  public var description: String {
    fileID.isEmpty ? message : "\(message) (\(fileID):\(line))"
  }
}
