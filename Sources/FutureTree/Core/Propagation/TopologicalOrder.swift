/// What a propagation can reach, and in which order: each future after all that wait for it.
///
/// Other threads may change the graph between the survey and the visits. Then a future is visited with the signals that it has by
/// then, and again with later ones.
struct TopologicalOrder {
  private struct Vertex {
    /// How many edges lead here on which a signal may still come.
    var edges = 0
    /// Where the propagation may go on from here, as positions; nil while it is expected to stop here.
    var upstream: [Int]?
    var signals: Signals?
    var isQueued = false
    var isVisited = false
  }

  /// The futures in the order in which the survey found them, and where each is.
  private var vertices: [Vertex] = []
  private var positions: [ObjectIdentifier: Int] = [:]
  private var ready: [Int] = []
  private var nextReady = 0

  init(from starts: [QueuedSignal]) {
    survey(from: starts)
    let first = starts.map { add($0) }
    edgesAreDone(to: first)
  }

  /// The next future to visit, with all its signals.
  mutating func next() -> (vertex: Int, signals: Signals)? {
    while nextReady < ready.count || queueLate() {
      let vertex = ready[nextReady]
      nextReady += 1
      vertices[vertex].isQueued = false
      vertices[vertex].isVisited = true
      if let signals = vertices[vertex].signals.take() { return (vertex, signals) }
    }
    return nil
  }

  /// A future was visited, and sends these signals.
  mutating func visited(_ vertex: Int, sending queue: SignalQueue) {
    while let signal = queue.popFirst() { add(signal) }
    edgesAreDone(to: vertices[vertex].upstream.take() ?? [])
  }

  // MARK: - The survey

  /// Counts the edges on which a signal may come.
  ///
  /// A propagation goes on from a future if all consumers of that take part in it. It goes on from others, but for shared ones,
  /// if its request does not stop where others wait. All signals of a propagation have one request. Only a withheld request that
  /// it delivers on its way may go further.
  private mutating func survey(from starts: [QueuedSignal]) {
    var passesOthers = starts.contains { $0.request?.options.reach == .everything }
    var edges = starts.map { $0.node.takeUnretainedValue() }
    var stopped: [Node] = []
    var next = 0
    while next < edges.count {
      let node = edges[next]
      next += 1
      let vertex = find(node)
      vertices[vertex].edges += 1
      guard vertices[vertex].upstream == nil else { continue }
      guard let (inputs, withheld) = expand(node, vertex, passesOthers: passesOthers) else {
        stopped.append(node)
        continue
      }
      edges += inputs
      guard !passesOthers, withheld?.options.reach == .everything else { continue }
      passesOthers = true
      for node in stopped {
        let vertex = find(node)
        guard vertices[vertex].upstream == nil else { continue }
        edges += expand(node, vertex, passesOthers: true)?.inputs ?? []
      }
    }
  }

  /// Returns what a future waits for, and what was withheld there; nil if the propagation is expected to stop there.
  private mutating func expand(
    _ node: Node, _ vertex: Int, passesOthers: Bool
  ) -> (inputs: [Node], withheld: CancelRequest?)? {
    let (state, links) = node.lock.withLock { (node.state, node.state.isPending ? node.waitsFor : TinyArray()) }
    guard vertices[vertex].edges >= state.consumers || passesOthers && !state.isShared else { return nil }
    let inputs = links.map(\.node)
    vertices[vertex].upstream = inputs.map { find($0) }
    return (inputs, state.requests.withheld)
  }

  private mutating func find(_ node: Node) -> Int {
    if let position = positions[ObjectIdentifier(node)] { return position }
    positions[ObjectIdentifier(node)] = vertices.count
    vertices.append(Vertex())
    return vertices.count - 1
  }

  // MARK: - Signals

  /// Returns the position of the future that receives the signal.
  @discardableResult
  private mutating func add(_ signal: QueuedSignal) -> Int {
    let vertex = find(signal.node.takeUnretainedValue())
    if vertices[vertex].signals == nil {
      vertices[vertex].signals = Signals(signal)
    } else {
      vertices[vertex].signals!.append(signal)
    }
    queueIfReady(vertex)
    return vertex
  }

  /// Nothing more comes on one edge to each of these futures, nor from those that have received nothing at all.
  private mutating func edgesAreDone(to futures: [Int]) {
    var pending = futures
    var index = 0
    while index < pending.count {
      let vertex = pending[index]
      index += 1
      vertices[vertex].edges -= 1
      queueIfReady(vertex)
      guard vertices[vertex].edges == 0, vertices[vertex].signals == nil, !vertices[vertex].isVisited else { continue }
      pending += vertices[vertex].upstream ?? []
    }
  }

  /// A future has received a signal, but not all that the survey expected: the graph has changed, or has a cycle.
  private mutating func queueLate() -> Bool {
    guard let late = vertices.firstIndex(where: { $0.signals != nil }) else { return false }
    ready.append(late)
    return true
  }

  private mutating func queueIfReady(_ vertex: Int) {
    guard vertices[vertex].edges <= 0, vertices[vertex].signals != nil, !vertices[vertex].isQueued else { return }
    vertices[vertex].isQueued = true
    ready.append(vertex)
  }
}
