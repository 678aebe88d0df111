import FutureTree

/// The order of the loaders of all chains: which loader may lead to which other loader.
///
/// # Invariants
/// 1. A loader leads only to loaders that were put into a chain before it, as a chain is made from its end. This also holds
///    for a user's loader, of which nothing else is known.
/// 2. A loader is known as long as a link that stands in a chain holds it, so that its identity is its own.
struct ChainOrder {
  private struct Place {
    let number: Int
    /// The loader to which this one leads. `nil` for one that may lead to several, or of which nothing is known.
    let next: ObjectIdentifier?
    var links = 0
  }

  static let current = Locked(ChainOrder())

  private var places: [ObjectIdentifier: Place] = [:]
  private var lastNumber = 0

  mutating func insert(_ id: ObjectIdentifier, leadingTo next: ObjectIdentifier? = nil) {
    lastNumber += 1
    places[id, default: Place(number: lastNumber, next: next)].links += 1
  }

  mutating func remove(_ id: ObjectIdentifier) {
    places[id]!.links -= 1
    if places[id]!.links == 0 { places[id] = nil }
  }

  /// Whether a chain may get from one loader to another.
  func mayLead(_ start: ObjectIdentifier, to target: ObjectIdentifier) -> Bool {
    guard let goal = places[target]?.number else { return false }
    var id = start
    while id != target, let next = places[id]?.next { id = next }
    return id == target || (places[id]?.number ?? .max) > goal
  }
}
