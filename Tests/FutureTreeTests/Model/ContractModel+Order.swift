// The order in which one request reaches futures (law 12).

extension ContractModel {
  /// What is reached, each future behind all that depend on it and pass the request on.
  ///
  /// The laws are silent on the order of two futures of which neither depends on the other. A future at which the request is
  /// expected to stop puts nothing behind it.
  func order(from starts: [Start]) -> [Int] {
    // What was withheld where it starts may be delivered.
    let reachesAll = starts.contains { $0.request?.reach == 3 || nodes[$0.node].withheld?.reach == 3 }
    let survey = survey(from: starts, stopsForNobody: reachesAll)
    let passing = !reachesAll && survey.deliversMore ? self.survey(from: starts, stopsForNobody: true) : survey
    let order = order(from: starts) { passing.futures.contains($0) }
    // Where the request goes on all the same, what is behind comes last.
    return order + self.order(from: starts) { _ in true }.filter { !order.contains($0) }
  }

  /// What can be reached through the futures that pass a request on, each behind all of those that wait for it.
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

  /// The futures that pass the request on, as far as that can be told before it runs: the first ones, and those whose
  /// consumers all take part, or that stop for nobody. And whether a withheld request on the way stops for nobody.
  private func survey(from starts: [Start], stopsForNobody: Bool) -> (futures: Set<Int>, deliversMore: Bool) {
    var (edges, passing, deliversMore) = ([Int](repeating: 0, count: nodes.count), Set(starts.map(\.node)), false)
    var pending = passing.sorted().flatMap { nodes[$0].upstream }
    while !pending.isEmpty {
      let future = pending.removeFirst()
      edges[future] += 1
      let stops = edges[future] < nodes[future].interest && (!stopsForNobody || nodes[future].isShared)
      guard !passing.contains(future), !stops else { continue }
      if nodes[future].withheld?.reach == 3 { deliversMore = true }
      passing.insert(future)
      pending += nodes[future].upstream
    }
    return (passing, deliversMore)
  }
}
