import FutureTree

/// The order of all loaders that exist: it knows which loader can lead to which other loader.
///
/// # Invariants
/// 1. A loader leads only to loaders that were put into a chain earlier, because a chain is built from its end. This also
///    holds for a user's loader, about which nothing else is known.
/// 2. A loader stays in the order while a link of a chain holds it, so that its object identifier is unique.
struct ChainOrder {
  private struct Place {
    let number: Int
    /// The loader that this one leads to. `nil` if it may lead to several loaders, or if nothing is known about it.
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

  /// Returns whether a chain can lead from one loader to another.
  func mayLead(_ start: ObjectIdentifier, to target: ObjectIdentifier) -> Bool {
    guard let goal = places[target]?.number else { return false }
    var id = start
    while id != target, let next = places[id]?.next { id = next }
    return id == target || (places[id]?.number ?? .max) > goal
  }
}
