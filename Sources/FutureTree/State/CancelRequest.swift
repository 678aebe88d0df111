/// One wish that a future be cancelled: how far it goes, and why.
public struct CancelRequest: Sendable {
  /// One reference, because every future that a request reaches keeps it.
  private let storage: Storage

  init(options: CancellationOptions, reason: CancellationReason) {
    storage = Storage(options: options, reason: reason)
  }

  /// How far the request goes.
  public var options: CancellationOptions { storage.options }

  /// Why, and which line asked.
  public var reason: CancellationReason { storage.reason }

  /// Whether both are one request, and not only equal.
  func isSame(as other: CancelRequest) -> Bool { storage === other.storage }

  private final class Storage: Sendable {
    let options: CancellationOptions
    let reason: CancellationReason

    init(options: CancellationOptions, reason: CancellationReason) {
      self.options = options
      self.reason = reason
    }
  }
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

  /// A force that reaches less far does not take back what else was asked: upstream, and an inner future that is linked
  /// later, get what reaches furthest.
  fileprivate func reaching(asFarAs weaker: CancelRequest?) -> CancelRequest {
    guard let weaker, weaker.options.reach > options.reach else { return self }
    return CancelRequest(options: weaker.options.union(.forceImmediately), reason: reason)
  }

  /// What upstream gets of a request: everything but the force (law 5), and nothing where it is not forwarded (law 4).
  var forwarded: CancelRequest? {
    if options.reach == 1 { return nil }
    return options.isForced ? CancelRequest(options: options.subtracting(.forceImmediately), reason: reason) : self
  }
}

extension CancelRequest {
  /// Options and reason, as they follow a word: ` [forceImmediately]: the tab was closed (App/Tab.swift:7)`.
  var text: String { (options.isEmpty ? "" : " \(options)") + ": \(reason)" }
}

/// What was asked of one future so far. A value of one word, because nearly every future is never asked.
enum RequestHistory {
  case none
  case asked(CancelRequest)
  indirect case withheld(CancelRequest, asked: CancelRequest?)

  private init(asked: CancelRequest?, withheld: CancelRequest?) {
    if let withheld {
      self = .withheld(withheld, asked: asked)
    } else {
      self = asked.map { .asked($0) } ?? .none
    }
  }

  /// The strongest request that took effect here.
  var asked: CancelRequest? {
    switch self {
    case .none: nil
    case .asked(let asked): asked
    case .withheld(_, let asked): asked
    }
  }

  /// The strongest request that stopped here because others still want the value; the earliest among equals.
  var withheld: CancelRequest? {
    if case .withheld(let withheld, _) = self { withheld } else { nil }
  }

  mutating func withhold(_ request: CancelRequest) {
    if let withheld, !request.isStronger(than: withheld) { return }
    self = .withheld(request, asked: asked)
  }

  /// The future has ended: what was withheld is not delivered any more.
  @inline(__always)
  mutating func ended() {
    if case .withheld = self { forgetWithheld() }
  }

  @inline(never)
  private mutating func forgetWithheld() {
    self = RequestHistory(asked: asked, withheld: nil)
  }

  /// Law 3: what was withheld is delivered once, so the earliest of the strongest takes effect in place of `request`.
  mutating func ask(_ request: CancelRequest, includingWithheld: Bool) -> CancelRequest {
    var strongest = request
    var rest = withheld
    if includingWithheld, let withheld {
      strongest =
        request.isStronger(than: withheld) ? request.reaching(asFarAs: withheld) : withheld.reaching(asFarAs: request)
      rest = nil
    } else if let withheld, !withheld.isStronger(than: request) {
      rest = nil
    }
    self = RequestHistory(asked: strongest.reaching(asFarAs: asked), withheld: rest)
    return strongest
  }
}
