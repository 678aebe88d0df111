/// The reason for a cancellation: a message for people, a kind and a cause for programs, and the file and line of the request.
///
/// ```swift
/// branch.cancel(reason: "the user closed the tab")
/// branch.cancel(reason: "\(text)")  // A `String` in a variable.
/// branch.cancel(reason: CancellationReason("the disk is full", kind: "Store.diskFull"))
///
/// branch.onCancel { reason in
///   if reason.kind == .timeout { print("too slow") }
/// }
/// ```
///
/// Handlers receive the reason, and `.cancelled` outcomes carry it. See <doc:Cancellation#Provenance>. `cancel` adds the
/// file and line of its call to a reason without a location. A string literal is therefore sufficient.
///
/// Reasons are equal if their messages, kinds and locations are. The cause is not compared, because errors cannot be.
public struct CancellationReason: Sendable {
  private let storage: Storage

  /// Creates a reason with the file and line of this call.
  ///
  /// - Parameters:
  ///   - message: A text for people.
  ///   - kind: What led to the cancellation. Defaults to `.requested`.
  ///   - cause: The error that led to it. Defaults to none.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  public init(
    _ message: String, kind: Kind = .requested, cause: (any Error)? = nil, fileID: String = #fileID, line: UInt = #line
  ) {
    storage = Storage(message: message, origin: Storage.Origin(kind, cause), fileID: fileID, line: line)
  }

  /// The message of the requester.
  public var message: String { storage.message }

  /// What led to the cancellation. `.requested` for a string literal.
  public var kind: Kind { storage.origin?.kind ?? .requested }

  /// The error that led to the cancellation, such as that of the input that decided a join. `nil` if there was none, and in a
  /// stored tree or log.
  public var cause: (any Error)? { storage.origin?.cause }

  /// The file of the request, as `Module/File.swift`. Empty if the reason is a literal without a location.
  public var fileID: String { storage.fileID }

  /// The line of the request, counted from 1. 0 if the reason is a literal without a location.
  public var line: UInt { storage.line }

  /// One reference, so that passing a reason through a large tree copies no strings. A cancellation request is the same
  /// object, so a request costs one allocation.
  final class Storage: Sendable {
    let message: String
    /// `nil` for the kind `requested` without a cause, so that the usual request copies nothing.
    let origin: Origin?
    let fileID: String
    let line: UInt
    /// The options of the request, if this object is a request.
    let options: CancellationOptions
    /// Whether the request had the force further downstream.
    let wasForced: Bool

    init(
      message: String, origin: Origin?, fileID: String, line: UInt, options: CancellationOptions = [],
      wasForced: Bool = false
    ) {
      self.message = message
      self.origin = origin
      self.fileID = fileID
      self.line = line
      self.options = options
      self.wasForced = wasForced
    }

    /// What led to a request.
    final class Origin: Sendable {
      let kind: Kind
      let cause: (any Error)?

      init?(_ kind: Kind, _ cause: (any Error)?) {
        guard kind != .requested || cause != nil else { return nil }
        self.kind = kind
        self.cause = cause
      }
    }
  }

  init(_ storage: Storage) {
    self.storage = storage
  }

  /// The object that has the kind and the cause, for another reason.
  var origin: Storage.Origin? { storage.origin }

  /// Returns the storage of a new request with this reason.
  func storage(with options: CancellationOptions, wasForced: Bool = false) -> Storage {
    Storage(
      message: message, origin: origin, fileID: fileID, line: line, options: options, wasForced: wasForced)
  }
}

extension CancellationReason {
  /// What led to a cancellation, for code that decides by it.
  ///
  /// ```swift
  /// branch.onCancel { reason in
  ///   if [.timeout, .deadline].contains(reason.kind) { print("too slow") }
  /// }
  /// ```
  ///
  /// Each reason of the library says its kind. Later versions may add kinds.
  public struct Kind: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name of the kind, such as `timeout`. It contains no secrets and is suitable for metrics.
    public let description: String

    /// Creates a kind of your own.
    ///
    /// ```swift
    /// extension CancellationReason.Kind {
    ///   static let diskFull: Self = "Store.diskFull"
    /// }
    /// ```
    ///
    /// Kinds with the same name are equal. Begin the name with the name of your module and a period, because later versions may
    /// add names without a period. The name is printed and measured, so it must contain no secrets.
    public init(_ name: String) {
      description = name
    }

    public init(stringLiteral name: String) {
      self.init(name)
    }

    /// A caller asked: a call of `cancel`, a token, or the cancellation of an awaiting task.
    public static let requested = Kind("requested")
    /// The work took longer than it may.
    public static let timeout = Kind("timeout")
    /// The point in time passed at which the result was needed.
    public static let deadline = Kind("deadline")
    /// A join or an operator completed without this work. The cause is its error, if it failed.
    public static let decided = Kind("decided")
    /// Newer work replaced this work.
    public static let superseded = Kind("superseded")
    /// Nothing can receive the result any more, because its last holder was deallocated or stopped reading.
    public static let abandoned = Kind("abandoned")
    /// The client of a server closed its connection.
    public static let disconnected = Kind("disconnected")
    /// The process or the service ends.
    public static let shutdown = Kind("shutdown")
    /// The chain of loaders was reset.
    public static let reset = Kind("reset")
    /// The scope of the work has ended. The cause is the error of its body, if it threw one.
    public static let scopeEnded = Kind("scopeEnded")
  }
}

extension CancellationReason {
  /// Creates a reason of the library, without a location.
  package static func of(_ kind: Kind, _ message: String, cause: (any Error)? = nil) -> CancellationReason {
    CancellationReason(message, kind: kind, cause: cause, fileID: "", line: 0)
  }

  /// A placeholder for the reason for the received request. The future that was asked replaces it.
  @usableFromInline static let unspecified = CancellationReason(unspecifiedMessage, fileID: "", line: 0)

  static var unspecifiedMessage: String { "no reason given" }

  var isUnspecified: Bool { storage === CancellationReason.unspecified.storage }

  /// Returns this reason with the given location if it has none. A reason that is passed on keeps its first location.
  func asked(fileID: String, line: UInt) -> CancellationReason {
    guard self.fileID.isEmpty else { return self }
    return CancellationReason(Storage(message: message, origin: origin, fileID: fileID, line: line))
  }
}

extension CancellationReason: Hashable {
  public static func == (left: CancellationReason, right: CancellationReason) -> Bool {
    left.storage === right.storage
      || (left.message == right.message && left.kind == right.kind && left.fileID == right.fileID
        && left.line == right.line)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(message)
    hasher.combine(kind)
    hasher.combine(fileID)
    hasher.combine(line)
  }
}

extension CancellationReason: ExpressibleByStringInterpolation {
  /// Creates a reason without a location. `cancel` adds its own.
  public init(stringLiteral message: String) {
    self.init(Storage(message: message, origin: nil, fileID: "", line: 0))
  }
}

extension CancellationReason: CustomReflectable {
  /// The message, the kind, the file and the line. The cause is omitted because its text may contain secrets.
  public var customMirror: Mirror {
    Mirror(self, children: ["message": message, "kind": kind, "fileID": fileID, "line": line])
  }
}

extension CancellationReason: CustomStringConvertible {
  /// The message and, if known, the location: `the user left (App/Feed.swift:42)`.
  public var description: String {
    fileID.isEmpty ? message : "\(message) (\(fileID):\(line))"
  }
}
