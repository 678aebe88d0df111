// The order in which one request reaches futures. Law 12 (diamonds).

extension ContractModel {
  /// Returns the reached futures, each after all futures that depend on it and pass the request on.
  ///
  /// The laws are silent on the order of two futures of which neither depends on the other. A future that is expected to
  /// withhold the request places no upstream after itself.
  func order(from starts: [Start]) -> [Int] {
    // A request that was withheld at a start may be delivered.
    var reach = Reach()
    for start in starts { reach.formUnion(self.reach(of: start.request)) }
    for start in starts { reach.formUnion(self.reach(of: nodes[start.node].withheld)) }
    var survey = survey(from: starts, reach)
    while !reach.isSuperset(of: survey.delivers) {
      reach.formUnion(survey.delivers)
      survey = self.survey(from: starts, reach)
    }
    let order = order(from: starts) { survey.futures.contains($0) }
    // If the request passes a future that was expected to withhold it, the upstream of that future comes last.
    return order + self.order(from: starts) { _ in true }.filter { !order.contains($0) }
  }

  /// Returns the futures reachable through futures that pass a request on, each after all its reached consumers.
  private func order(from starts: [Start], through passes: (Int) -> Bool) -> [Int] {
    var edges = [Int](repeating: 0, count: nodes.count)
    var reached: [Int] = []
    for start in starts where !reached.contains(start.node) { reached.append(start.node) }
    var index = 0
    while index < reached.count {
      for upstream in passes(reached[index]) ? nodes[reached[index]].upstream : [] {
        edges[upstream] += 1
        if !reached.contains(upstream) { reached.append(upstream) }
      }
      index += 1
    }
    var order: [Int] = []
    for start in starts where edges[start.node] == 0 && !order.contains(start.node) { order.append(start.node) }
    index = 0
    while index < order.count {
      for upstream in passes(order[index]) ? nodes[order[index]].upstream : [] {
        edges[upstream] -= 1
        if edges[upstream] == 0 { order.append(upstream) }
      }
      index += 1
    }
    return order
  }

  /// Returns the futures that are expected to pass the request on: the starts, and the futures whose consumers all take part.
  /// `delivers` is the reach of the withheld requests on the path.
  private func survey(from starts: [Start], _ reach: Reach) -> (futures: Set<Int>, delivers: Reach) {
    var (edges, passing, delivers) = ([Int](repeating: 0, count: nodes.count), Set(starts.map(\.node)), Reach())
    var pending = passing.sorted().flatMap { nodes[$0].upstream }
    while !pending.isEmpty {
      let future = pending.removeFirst()
      edges[future] += 1
      let endsLinger = reach.contains(.endsLinger) || withholdsEndOfLinger(future)
      let own = endsLinger && nodes[future].linger.counts ? 1 : 0
      let hasOthers = edges[future] < nodes[future].interest - own
      let stops = hasOthers && (!reach.contains(.ignoresOthers) || nodes[future].isShared)
      guard !passing.contains(future), !stops else { continue }
      delivers.formUnion(self.reach(of: nodes[future].withheld))
      passing.insert(future)
      pending += nodes[future].upstream
    }
    return (passing, delivers)
  }

  /// How far a request goes. A request that ignores others is withheld by shared futures only.
  private struct Reach: OptionSet {
    let rawValue: UInt8
    static let ignoresOthers = Reach(rawValue: 1)
    static let endsLinger = Reach(rawValue: 2)
  }

  private func reach(of request: ModelRequest?) -> Reach {
    guard let request else { return [] }
    return Reach(request.reach == 3 ? [.ignoresOthers] : []).union(request.endsLinger ? .endsLinger : [])
  }
}
