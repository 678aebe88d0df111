/// The parts of a chain, each once, wherever and however often it stands.
struct PartGraph {
  /// A place of a part, with the places to which it leads.
  private struct Place {
    /// A part, or the chain that begins with it. It is retained, so that its identity stays unique: chains of branches are made
    /// for the graph.
    let node: any HTTPPart
    var next: [Int] = []
    var level = 0

    var part: any HTTPPart { (node as? HTTPChain)?.layer ?? node }
  }

  private var places: [Place] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  /// The places, each after those to which it leads.
  private var order: [Int] = []

  init(_ loader: any HTTPLoader) {
    _ = add(loader)
    for number in order.reversed() {
      for next in places[number].next { places[next].level = max(places[next].level, places[number].level + 1) }
    }
  }

  /// The parts by the longest way from the outer end to them. An object that stands in several places has the innermost one.
  var levels: [[any HTTPPart]] {
    var last: [ObjectIdentifier: Int] = [:]
    for place in places {
      if let id = identity(of: place.part) { last[id] = max(last[id] ?? 0, place.level) }
    }
    var levels = Array(repeating: [any HTTPPart](), count: (places.map(\.level).max() ?? 0) + 1)
    for place in order.reversed().map({ places[$0] }) {
      guard let id = identity(of: place.part) else {
        levels[place.level].append(place.part)
        continue
      }
      if let level = last.removeValue(forKey: id) { levels[level].append(place.part) }
    }
    return levels.filter { !$0.isEmpty }
  }

  /// The parts that conform to a protocol, each once. The search does not go beyond them.
  func outermost<Found>(as type: Found.Type) -> [Found] {
    var found: [Found] = []
    var (pending, seen) = ([0], Set([0]))
    while let number = pending.popLast() {
      if let part = places[number].part as? Found {
        let isNew = !found.contains { ($0 as AnyObject) === (part as AnyObject) }
        if isNew { found.append(part) }
      } else {
        pending += places[number].next.filter { seen.insert($0).inserted }
      }
    }
    return found
  }

  /// Adds a part or a chain, and those to which it leads. Returns the number of its place.
  private mutating func add(_ node: any HTTPPart) -> Int {
    let id = identity(of: node)
    if let id, let number = numbers[id] { return number }
    let number = places.count
    places.append(Place(node: node))
    if let id { numbers[id] = number }
    // Backward, because `order` is reversed.
    places[number].next = ((node as? HTTPChain)?.loaders ?? node.parts).reversed().map { add($0) }
    order.append(number)
    return number
  }
}

extension HTTPChain {
  /// The parts to which the layer leads. A layer among them is followed by `next`.
  var loaders: [any HTTPPart] {
    layer.parts.map { part in (part as? any HTTPLayer).map { chain($0, before: next) } ?? part } + [next]
  }
}
