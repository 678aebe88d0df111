// The order in which one request reaches futures. Law 12 (diamonds).

extension ContractModel {
  /// Returns the reached futures, each after all futures that depend on it and pass the request on.
  ///
  /// The laws are silent on the order of two futures of which neither depends on the other. A future that is expected to
  /// withhold the request places no upstream after itself.
  func order(from starts: [Start]) -> [Int] {
    // A request that was withheld at a start may be delivered.
    let reachesAll = starts.contains { $0.request?.reach == 3 || nodes[$0.node].withheld?.reach == 3 }
    let survey = survey(from: starts, ignoresOthers: reachesAll)
    let passing = !reachesAll && survey.deliversMore ? self.survey(from: starts, ignoresOthers: true) : survey
    let order = order(from: starts) { passing.futures.contains($0) }
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
  /// With `ignoresOthers`, only shared futures withhold. `deliversMore` is whether a withheld request on the path ignores
  /// other consumers.
  private func survey(from starts: [Start], ignoresOthers: Bool) -> (futures: Set<Int>, deliversMore: Bool) {
    var (edges, passing, deliversMore) = ([Int](repeating: 0, count: nodes.count), Set(starts.map(\.node)), false)
    var pending = passing.sorted().flatMap { nodes[$0].upstream }
    while !pending.isEmpty {
      let future = pending.removeFirst()
      edges[future] += 1
      let stops = edges[future] < nodes[future].interest && (!ignoresOthers || nodes[future].isShared)
      guard !passing.contains(future), !stops else { continue }
      if nodes[future].withheld?.reach == 3 { deliversMore = true }
      passing.insert(future)
      pending += nodes[future].upstream
    }
    return (passing, deliversMore)
  }
}
