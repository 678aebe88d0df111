/// The first part of a propagation: interest is withdrawn, and every future that is reached learns of the request.
///
/// A future decides once, when everything that waits for it and that the propagation can reach has decided: only then is it known
/// who its *other* consumers are. In a chain that is so by itself. Where paths part, the propagation surveys what it can reach.
extension CancellationPropagation {
  mutating func walk(from starts: TinyArray<Signal>) {
    var arrivals = starts
    var isTarget = true
    while let arrival = arrivals.first, arrivals.others.isEmpty {
      let last = walkChain(from: arrival)
      if last.predecessor != arrival.predecessor { isTarget = false }
      arrivals = land(Arrivals(first: last), isTarget: isTarget)
      isTarget = false
    }
    if arrivals.allSatisfy({ $0.node.isEndOfOnePath }) { arrivals = landAll(arrivals) }
    if !arrivals.isEmpty { walkInOrder(from: arrivals) }
  }

  /// Lands on futures that wait for nothing and are wanted by one, as the inputs of a join often are: no paths meet there,
  /// so that nothing has to be put in order. Returns where the propagation goes on from those that were linked meanwhile.
  private mutating func landAll(_ arrivals: TinyArray<Signal>) -> TinyArray<Signal> {
    var next = TinyArray<Signal>()
    for arrival in arrivals {
      for further in land(Arrivals(first: arrival)) { next.append(further) }
    }
    return next
  }

  /// Walks where each future passes the request on to the one that it waits for. Returns what comes to the first that does
  /// not.
  private mutating func walkChain(from start: Signal) -> Signal {
    guard let request = start.request, start.departure == .stays, imagination == nil else { return start }
    var node = start.node
    var predecessor = Int32(start.predecessor)
    guard var next = node.forwardAtOnce(request, askedBy: start.asker) else { return start }
    let kept = reachedRequest(request)
    while true {
      let further = next.forwardAtOnce(request, askedBy: node)
      reached.append(Reached(node: consume node, request: kept, effect: .forwards, predecessor: predecessor))
      predecessor = Int32(reached.count - 1)
      guard let further else {
        return Signal(
          node: next, request: request, asker: reached[Int(predecessor)].node, predecessor: Int(predecessor))
      }
      node = next
      next = further
    }
  }

  /// What `Reached` keeps of a request.
  private func reachedRequest(_ request: CancelRequest) -> CancelRequest? {
    origin?.request.map { $0.isSame(as: request) } == true ? nil : request
  }

  /// Returns where the propagation goes on.
  private mutating func land(_ arrivals: Arrivals, isTarget: Bool = false) -> TinyArray<Signal> {
    let landing: Node.Landing
    if imagination != nil {
      landing = arrivals.node.imagine(arrivals, reachedAs: reached.count, in: &imagination!)
    } else {
      landing = arrivals.node.receive(arrivals, reachedAs: reached.count)
      for arrival in arrivals where arrival.departure == .losesInterest { arrival.asker?.owner?.notifyOfInterest() }
    }
    record(landing, of: arrivals, isTarget: isTarget)
    return landing.next
  }

  private mutating func record(_ landing: Node.Landing, of arrivals: Arrivals, isTarget: Bool) {
    let node = arrivals.node
    if landing.logNumber > 0 { note(landing, of: arrivals) }
    switch landing.reception {
    case .tooLate(let ending):
      if isTarget { first = .tooLate(ending) }
    case .duplicate:
      if isTarget { first = .duplicate } else { metDuplicate = true }
    case .storedBefore:
      if isTarget { first = .duplicate }
    case .withheld(let others):
      if isTarget { first = .withheld(by: others) }
      stopCount += 1
      othersWaiting += others
      for arrival in arrivals {
        guard let request = arrival.request, let asker = arrival.asker, arrival.departure != .leaves else { continue }
        withheldAt.append(Stop(node: node, request: request, asker: asker, predecessor: arrival.predecessor))
      }
    case .applied(let request, let effect):
      let (predecessor, others) = arrivals.predecessors
      if node.state.createdBy.isSource { sources.append((unsafeDowncast(node, to: Source.self), request)) }
      if landing.hasEnded { ended.append(Ended(node: node, ownsBody: landing.ownsBody, index: reached.count)) }
      if !others.isEmpty { otherPredecessors[reached.count] = others }
      reached.append(Reached(node: node, request: reachedRequest(request), effect: effect, predecessor: predecessor))
    case nil:
      break
    }
  }
}

extension CancellationPropagation {
  /// What the log of a future is told once the propagation has walked.
  private mutating func note(_ landing: Node.Landing, of arrivals: Arrivals) {
    let fact: FutureEvent.Fact
    switch landing.reception {
    case .applied(let request, _): fact = .cancelRequested(request)
    case .withheld(let others):
      guard let request = arrivals.request else { return }
      fact = .withheld(request, by: others)
    case .tooLate, .duplicate, .storedBefore, nil: return
    }
    if let note = arrivals.node.note(fact, number: landing.logNumber) { notes.append(note) }
  }
}

// MARK: - Where paths part

extension CancellationPropagation {
  private mutating func walkInOrder(from starts: TinyArray<Signal>) {
    var order = TopologicalOrder(from: starts)
    var first: [Int] = []
    for start in starts { first.append(order.arrive(start)) }
    order.edgesAreDone(to: first)
    while let (vertex, arrivals) = order.next() {
      for arrival in land(arrivals) { order.arrive(arrival) }
      order.hasDecided(vertex)
    }
  }
}

/// What a propagation can reach, and in which order: each future after all that wait for it.
///
/// Other threads may change the tree between the survey and the walk. Then a future decides with what has come to it by
/// then; what comes later comes to it as another arrival.
private struct TopologicalOrder {
  private struct Vertex {
    /// How many edges lead here on which something may still come.
    var edges = 0
    /// Where the propagation may go on from here, as positions; nil while it is expected to stop here.
    var upstream: [Int]?
    var arrivals: CancellationPropagation.Arrivals?
    var isQueued = false
    var isDecided = false
  }

  /// The futures in the order in which the survey came upon them, and where each is.
  private var vertices: [Vertex] = []
  private var positions: [ObjectIdentifier: Int] = [:]
  private var ready: [Int] = []
  private var nextReady = 0

  init(from starts: TinyArray<Signal>) {
    // All that arrives in one propagation asks the same. Only a request that was withheld and is delivered now may ask more.
    if starts.contains(where: { $0.request?.options.reach == .everything }) {
      survey(from: starts, stopsForNobody: true)
    } else if survey(from: starts, stopsForNobody: false) {
      self = TopologicalOrder()
      survey(from: starts, stopsForNobody: true)
    }
  }

  private init() {}

  /// Returns whether it came upon a withheld request that the propagation may deliver, and that stops for nobody.
  @discardableResult
  private mutating func survey(from starts: TinyArray<Signal>, stopsForNobody: Bool) -> Bool {
    var deliversMore = false
    var pending = starts.map { ($0.node, find($0.node)) }
    var index = 0
    while index < pending.count {
      let (node, vertex) = pending[index]
      index += 1
      vertices[vertex].edges += 1
      guard vertices[vertex].upstream == nil else { continue }
      let (state, links) = node.lock.withLock { (node.state, node.state.isPending ? node.waitsFor : TinyArray()) }
      // It goes on from here only if all that want this future take part in the propagation, or if it stops for nobody.
      guard vertices[vertex].edges >= state.consumers || stopsForNobody && !state.isShared else { continue }
      if state.requests.withheld?.options.reach == .everything { deliversMore = true }
      let upstream = links.map { ($0.node, find($0.node)) }
      vertices[vertex].upstream = upstream.map { $0.1 }
      pending += upstream
    }
    return deliversMore
  }

  private mutating func find(_ node: Node) -> Int {
    if let position = positions[ObjectIdentifier(node)] { return position }
    positions[ObjectIdentifier(node)] = vertices.count
    vertices.append(Vertex())
    return vertices.count - 1
  }

  /// Something has come to a future. Returns its position.
  @discardableResult
  mutating func arrive(_ arrival: Signal) -> Int {
    let vertex = find(arrival.node)
    if vertices[vertex].arrivals == nil {
      vertices[vertex].arrivals = CancellationPropagation.Arrivals(first: arrival)
    } else {
      vertices[vertex].arrivals!.append(arrival)
    }
    queueIfReady(vertex)
    return vertex
  }

  /// Nothing more comes on one edge to each of these futures, nor from those to which nothing has come at all.
  mutating func edgesAreDone(to futures: [Int]) {
    var pending = futures
    var index = 0
    while index < pending.count {
      let vertex = pending[index]
      index += 1
      vertices[vertex].edges -= 1
      queueIfReady(vertex)
      guard vertices[vertex].edges == 0, vertices[vertex].arrivals == nil, !vertices[vertex].isDecided else { continue }
      pending += vertices[vertex].upstream ?? []
    }
  }

  /// The future whose turn it is, with all that has come to it.
  mutating func next() -> (vertex: Int, arrivals: CancellationPropagation.Arrivals)? {
    while nextReady < ready.count || queueLate() {
      let vertex = ready[nextReady]
      nextReady += 1
      vertices[vertex].isQueued = false
      vertices[vertex].isDecided = true
      if let arrivals = vertices[vertex].arrivals.take() { return (vertex, arrivals) }
    }
    return nil
  }

  /// A future has decided, and what it passes on has arrived.
  mutating func hasDecided(_ vertex: Int) {
    edgesAreDone(to: vertices[vertex].upstream.take() ?? [])
  }

  /// Something has come to a future, but not all that the survey expected: the tree has changed, or is a circle.
  private mutating func queueLate() -> Bool {
    guard let late = vertices.firstIndex(where: { $0.arrivals != nil }) else { return false }
    ready.append(late)
    return true
  }

  private mutating func queueIfReady(_ vertex: Int) {
    guard vertices[vertex].edges <= 0, vertices[vertex].arrivals != nil, !vertices[vertex].isQueued else { return }
    vertices[vertex].isQueued = true
    ready.append(vertex)
  }
}
