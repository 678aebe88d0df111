/// One wish that a future be cancelled: how far it goes, and why.
public struct CancelRequest: Sendable, Hashable, Codable {
  /// How far the request goes.
  public let options: CancellationOptions

  /// Why, and which line asked.
  public let reason: CancellationReason
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
    options.reach == 1 ? nil : CancelRequest(options: options.subtracting(.forceImmediately), reason: reason)
  }
}

extension CancelRequest {
  /// Options and reason, as they follow a word: ` [forceImmediately]: the tab was closed (App/Tab.swift:7)`.
  var text: String { (options.isEmpty ? "" : " \(options)") + ": \(reason)" }
}

/// What was asked of one future so far. A value; boxed, because nearly every future is never asked.
enum RequestHistory {
  case none
  indirect case some(asked: CancelRequest?, withheld: CancelRequest?)

  /// The strongest request that took effect here.
  var asked: CancelRequest? {
    if case .some(let asked, _) = self { asked } else { nil }
  }

  /// The strongest request that stopped here because others still want the value; the earliest among equals.
  var withheld: CancelRequest? {
    if case .some(_, let withheld) = self { withheld } else { nil }
  }

  mutating func withhold(_ request: CancelRequest) {
    if let withheld, !request.isStronger(than: withheld) { return }
    self = .some(asked: asked, withheld: request)
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
    self = .some(asked: strongest.reaching(asFarAs: asked), withheld: rest)
    return strongest
  }
}
