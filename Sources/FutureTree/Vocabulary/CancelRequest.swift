/// One request to cancel a future: its options and its reason.
public struct CancelRequest: Sendable {
  /// One reference, because every future that a request reaches stores it. The reason is the same object.
  fileprivate let storage: CancellationReason.Storage

  fileprivate init(_ storage: CancellationReason.Storage) {
    self.storage = storage
  }

  init(options: CancellationOptions, reason: CancellationReason, wasForced: Bool = false) {
    storage = reason.storage(with: options, wasForced: wasForced)
  }

  /// Creates a request with the file and line of the caller. A reason that already has a location keeps it.
  init(options: CancellationOptions, reason: CancellationReason?, fileID: String, line: UInt) {
    storage =
      if let reason, !reason.fileID.isEmpty { reason.storage(with: options) } else {
        CancellationReason.Storage(
          message: reason?.message ?? CancellationReason.unspecifiedMessage, origin: reason?.origin, fileID: fileID,
          line: line, options: options)
      }
  }

  /// The options of the request.
  public var options: CancellationOptions { storage.options }

  /// The reason for the request, with the file and line of the call.
  public var reason: CancellationReason { CancellationReason(storage) }

  /// Whether the request ends a linger: it has the force, or had it further downstream. Law 24 (lingering).
  var endsLinger: Bool { storage.wasForced || options.isForced }

  /// Returns this request. It ends a linger if one of both does: the force of a request that was withheld is not lost with it.
  fileprivate func endingLinger(as other: CancelRequest) -> CancelRequest {
    guard other.endsLinger, !endsLinger else { return self }
    return CancelRequest(options: options, reason: reason, wasForced: true)
  }

  /// Whether both values are the same request object, not only equal.
  func isSame(as other: CancelRequest) -> Bool { storage === other.storage }
}

extension CancelRequest {
  /// An unretained reference, for code that retains the request elsewhere.
  var unretained: Unretained { Unretained(storage: Unmanaged.passUnretained(storage)) }

  struct Unretained: Equatable {
    fileprivate let storage: Unmanaged<CancellationReason.Storage>

    var request: CancelRequest { CancelRequest(storage.takeUnretainedValue()) }

    static func == (left: Unretained, right: Unretained) -> Bool {
      left.storage.toOpaque() == right.storage.toOpaque()
    }
  }

  /// The object to retain for an unretained reference.
  var object: AnyObject { storage }
}

extension CancelRequest: Hashable {
  public static func == (left: CancelRequest, right: CancelRequest) -> Bool {
    left.storage === right.storage || left.options == right.options && left.reason == right.reason
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(options)
    hasher.combine(reason)
  }
}

extension CancelRequest: CustomStringConvertible, CustomReflectable {
  /// The options, if any, and the reason: `request to cancel [forceImmediately]: the tab was closed (App/Tab.swift:7)`.
  public var description: String { "request to cancel\(text)" }

  /// The options and the reason.
  public var customMirror: Mirror { Mirror(self, children: ["options": options, "reason": reason]) }
}

extension CancelRequest {
  /// Whether this request is not a duplicate of `other`. A forced request is stronger than an unforced one. Law 9 (handlers run).
  func isStronger(than other: CancelRequest) -> Bool {
    if options.isForced != other.options.isForced { return options.isForced }
    return options.reach > other.options.reach
  }

  /// Returns the request whose options reach further upstream, regardless of force. Returns `self` if they reach equally far.
  fileprivate func orFurther(_ other: CancelRequest?) -> CancelRequest {
    guard let other, other.options.reach > options.reach else { return self }
    return other
  }

  /// The request that upstream receives: without the force, law 5 (force), or `nil` if it is not forwarded, law 4 (this
  /// future only).
  var forwarded: CancelRequest? {
    if options.reach == .thisFuture { return nil }
    guard options.isForced else { return self }
    return CancelRequest(options: options.subtracting(.forceImmediately), reason: reason, wasForced: true)
  }
}

extension CancelRequest {
  /// Options and reason as a suffix of a word: ` [forceImmediately]: the tab was closed (App/Tab.swift:7)`.
  package var text: String { (options.isEmpty ? "" : " \(options)") + ": \(reason)" }
}

/// The requests that one future has received. The value has one word, because nearly every future receives none.
///
/// Each stored request has the options and the reason of one caller.
enum RequestHistory {
  case none
  case asked(CancelRequest)
  case onlyWithheld(CancelRequest)
  indirect case several(asked: CancelRequest?, furthest: CancelRequest?, withheld: CancelRequest?)

  private init(asked: CancelRequest?, furthest: CancelRequest?, withheld: CancelRequest?) {
    if let asked, withheld == nil, furthest?.isSame(as: asked) == true {
      self = .asked(asked)
    } else if asked == nil, furthest == nil {
      self = withheld.map { .onlyWithheld($0) } ?? .none
    } else {
      self = .several(asked: asked, furthest: furthest, withheld: withheld)
    }
  }

  /// The strongest request that took effect here.
  var asked: CancelRequest? {
    switch self {
    case .none, .onlyWithheld: nil
    case .asked(let asked): asked
    case .several(let asked, _, _): asked
    }
  }

  /// The request that reaches furthest upstream of those that took effect here. An inner future that is linked later
  /// receives it. A forced request that reaches less far does not replace it. Law 8 (no request is lost).
  var furthest: CancelRequest? {
    switch self {
    case .none, .onlyWithheld: nil
    case .asked(let asked): asked
    case .several(_, let furthest, _): furthest
    }
  }

  /// The strongest request that stopped here because other consumers have interest. The earliest among equals.
  var withheld: CancelRequest? {
    switch self {
    case .none, .asked: nil
    case .onlyWithheld(let withheld): withheld
    case .several(_, _, let withheld): withheld
    }
  }

  mutating func withhold(_ request: CancelRequest) {
    guard let withheld else {
      self = RequestHistory(asked: asked, furthest: furthest, withheld: request)
      return
    }
    let (kept, other) = request.isStronger(than: withheld) ? (request, withheld) : (withheld, request)
    self = RequestHistory(asked: asked, furthest: furthest, withheld: kept.endingLinger(as: other))
  }

  /// Discards the withheld request: the future has completed.
  @inline(__always)
  mutating func ended() {
    switch self {
    case .none, .asked: break
    case .onlyWithheld, .several: forgetWithheld()
    }
  }

  @inline(never)
  private mutating func forgetWithheld() {
    self = RequestHistory(asked: asked, furthest: furthest, withheld: nil)
  }

  /// Applies a request, the withheld request, or the stronger of both. Law 3 (stopping where others wait).
  ///
  /// - Parameters:
  ///   - request: The request, or `nil` if it is a duplicate or there is none.
  ///   - deliversWithheld: Whether the last consumer has requested or withdrawn.
  /// - Returns: The request that takes effect and the request that goes upstream. `nil` if nothing new takes effect.
  mutating func ask(
    _ request: CancelRequest?, deliversWithheld: Bool
  ) -> (applied: CancelRequest, forwarded: CancelRequest)? {
    let delivered = deliversWithheld ? withheld.flatMap { isNews($0) ? $0 : nil } : nil
    let rest = deliversWithheld ? nil : withheld
    guard let first = delivered ?? request else {
      self = RequestHistory(asked: asked, furthest: furthest, withheld: rest)
      return nil
    }
    let applied = request.map { $0.isStronger(than: first) ? $0 : first } ?? first
    let forwarded = applied.orFurther(first).orFurther(request)
    self = RequestHistory(
      asked: applied, furthest: forwarded.orFurther(furthest),
      withheld: rest.flatMap { $0.isStronger(than: applied) ? $0 : nil })
    return (applied, forwarded)
  }

  /// Whether a request is stronger than every request that took effect here, so not a duplicate. Law 9 (handlers run).
  func isNews(_ request: CancelRequest) -> Bool { asked.map { request.isStronger(than: $0) } ?? true }
}

// The encoding of requests in stored trees and logs. The field names are stable.
// A request is encoded as `{"options": ["forceImmediately"], "reason": {…}}`.

/// Encoded as `{"message": "5 s passed", "kind": "timeout", "fileID": "App/Tab.swift", "line": 7}`, without a kind that is
/// `requested`. The cause is not encoded.
extension CancellationReason: Codable {
  private enum CodingKeys: String, CodingKey {
    case message, kind, fileID, line
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .message),
      kind: try container.decodeIfPresent(String.self, forKey: .kind).map(Kind.init(_:)) ?? .requested,
      fileID: try container.decode(String.self, forKey: .fileID), line: try container.decode(UInt.self, forKey: .line))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(message, forKey: .message)
    if kind != .requested { try container.encode(kind.description, forKey: .kind) }
    try container.encode(fileID, forKey: .fileID)
    try container.encode(line, forKey: .line)
  }
}

/// Encoded as an array of option names, in the order of their declaration.
extension CancellationOptions: Codable {
  public init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    var options: CancellationOptions = []
    while !container.isAtEnd {
      let name = try container.decode(String.self)
      guard let option = CancellationOptions.names.first(where: { $0.name == name })?.option else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription: "The option `\(name)` does not exist. The options are "
            + CancellationOptions.names.map(\.name).joined(separator: ", ") + ".")
      }
      options.insert(option)
    }
    self = options
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for (option, name) in CancellationOptions.names where contains(option) { try container.encode(name) }
  }
}

extension CancelRequest: Codable {
  private enum CodingKeys: String, CodingKey {
    case options, reason
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      options: try container.decode(CancellationOptions.self, forKey: .options),
      reason: try container.decode(CancellationReason.self, forKey: .reason))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(options, forKey: .options)
    try container.encode(reason, forKey: .reason)
  }
}
