/// A request to cancel a future: how far it goes, and why.
public struct CancelRequest: Sendable {
  /// One reference, because every future that a request reaches stores it. The reason is the same object.
  fileprivate let storage: CancellationReason.Storage

  fileprivate init(_ storage: CancellationReason.Storage) {
    self.storage = storage
  }

  init(options: CancellationOptions, reason: CancellationReason) {
    storage = reason.storage(with: options)
  }

  /// Creates a request with the source location of the caller. A reason that has a source location keeps it: the location of the
  /// first request.
  init(options: CancellationOptions, reason: CancellationReason?, fileID: String, line: UInt) {
    storage =
      if let reason, !reason.fileID.isEmpty { reason.storage(with: options) } else {
        CancellationReason.Storage(
          message: reason?.message ?? CancellationReason.unspecifiedMessage, fileID: fileID, line: line,
          options: options)
      }
  }

  /// How far the request goes.
  public var options: CancellationOptions { storage.options }

  /// Why, and which line asked.
  public var reason: CancellationReason { CancellationReason(storage) }

  /// Whether both are one request, and not only equal.
  func isSame(as other: CancelRequest) -> Bool { storage === other.storage }
}

extension CancelRequest {
  /// An uncounted reference, for code that retains the request elsewhere.
  var unretained: Unretained { Unretained(storage: Unmanaged.passUnretained(storage)) }

  struct Unretained: Equatable {
    fileprivate let storage: Unmanaged<CancellationReason.Storage>

    var request: CancelRequest { CancelRequest(storage.takeUnretainedValue()) }

    static func == (left: Unretained, right: Unretained) -> Bool {
      left.storage.toOpaque() == right.storage.toOpaque()
    }
  }

  /// The object to retain while an unretained reference is in use.
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

extension CancelRequest {
  /// Law 9: what is not stronger than what was asked before is a duplicate. Force always is stronger than no force.
  func isStronger(than other: CancelRequest) -> Bool {
    if options.isForced != other.options.isForced { return options.isForced }
    return options.reach > other.options.reach
  }

  /// Of two requests the one that goes further upstream, once the force is taken off; the first of two that go as far.
  fileprivate func orFurther(_ other: CancelRequest?) -> CancelRequest {
    guard let other, other.options.reach > options.reach else { return self }
    return other
  }

  /// What upstream gets of a request: everything but the force (law 5), and nothing where it is not forwarded (law 4).
  var forwarded: CancelRequest? {
    if options.reach == .thisFuture { return nil }
    return options.isForced ? CancelRequest(options: options.subtracting(.forceImmediately), reason: reason) : self
  }
}

extension CancelRequest {
  /// Options and reason, as they follow a word: ` [forceImmediately]: the tab was closed (App/Tab.swift:7)`.
  var text: String { (options.isEmpty ? "" : " \(options)") + ": \(reason)" }
}

/// The requests that one future has received. A value of one word, because nearly every future receives none.
///
/// Each request in it is one that somebody made, with its own options and reason.
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

  /// Of the requests that took effect here, the one that goes furthest upstream: what an inner future gets that is linked
  /// later. A force that reaches less far does not take it back (law 8).
  var furthest: CancelRequest? {
    switch self {
    case .none, .onlyWithheld: nil
    case .asked(let asked): asked
    case .several(_, let furthest, _): furthest
    }
  }

  /// The strongest request that stopped here because other consumers have interest; the earliest among equals.
  var withheld: CancelRequest? {
    switch self {
    case .none, .asked: nil
    case .onlyWithheld(let withheld): withheld
    case .several(_, _, let withheld): withheld
    }
  }

  mutating func withhold(_ request: CancelRequest) {
    if let withheld, !request.isStronger(than: withheld) { return }
    self = RequestHistory(asked: asked, furthest: furthest, withheld: request)
  }

  /// The future has ended: what was withheld is not delivered any more.
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

  /// A request takes effect, or the one that was withheld does: the strongest, the earliest among equals (law 3).
  ///
  /// - Parameters:
  ///   - request: The request; nil if it is a duplicate, or nothing was asked.
  ///   - deliversWithheld: Whether the last consumer has asked or withdrawn.
  /// - Returns: The request that takes effect, and the one that goes upstream. Nil if nothing new takes effect.
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

  /// Whether a request is no duplicate: nothing took effect here before that was as strong (law 9).
  func isNews(_ request: CancelRequest) -> Bool { asked.map { request.isStronger(than: $0) } ?? true }
}
