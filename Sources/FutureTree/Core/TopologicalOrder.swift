/// The futures that a propagation can reach, ordered so that each comes after all futures that wait for it.
///
/// Other threads may change the graph between the survey and the visits. Then a future is visited with the signals that it has
/// received so far, and again with later ones.
struct TopologicalOrder {
  private struct Vertex {
    /// The number of incoming edges on which a signal may still arrive.
    var edges = 0
    /// The positions of the futures where the propagation may continue from here, or `nil` while it is expected to stop here.
    var upstream: [Int]?
    var signals: Signals?
    var isQueued = false
    var isVisited = false
  }

  /// How far a request goes.
  private struct Reach: OptionSet {
    let rawValue: UInt8
    /// Only shared futures withhold it.
    static let passesOthers = Reach(rawValue: 1)
    /// A future that lingers does not withhold it.
    static let endsLinger = Reach(rawValue: 2)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ request: CancelRequest?) {
      self = []
      if request?.options.reach == .everything { insert(.passesOthers) }
      if request?.endsLinger == true { insert(.endsLinger) }
    }
  }

  /// The vertices in the order in which the survey found them, and the position of each future.
  private var vertices: [Vertex] = []
  private var positions: [ObjectIdentifier: Int] = [:]
  private var ready: [Int] = []
  private var nextReady = 0

  init(from starts: [QueuedSignal]) {
    survey(from: starts)
    let first = starts.map { add($0) }
    edgesAreDone(to: first)
  }

  /// Returns the next vertex to visit, with all its signals.
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

  /// Records that a vertex was visited, and adds the signals that it sent.
  mutating func visited(_ vertex: Int, sending queue: SignalQueue) {
    while let signal = queue.popFirst() { add(signal) }
    edgesAreDone(to: vertices[vertex].upstream.take() ?? [])
  }

  // MARK: - The survey

  /// Counts the edges on which a signal may arrive.
  ///
  /// A propagation continues at a future if all consumers of the future take part in it. At a future with other consumers it
  /// continues only if its request does not stop where others wait and the future is not shared. All signals of a propagation
  /// have one request. Only a withheld request that it delivers on its way may go further.
  private mutating func survey(from starts: [QueuedSignal]) {
    var reach = Reach()
    for start in starts { reach.formUnion(Reach(start.request)) }
    var edges = starts.map { $0.node.takeUnretainedValue() }
    var stopped: [Node] = []
    var next = 0
    while next < edges.count {
      let node = edges[next]
      next += 1
      let vertex = find(node)
      vertices[vertex].edges += 1
      guard vertices[vertex].upstream == nil else { continue }
      guard let (inputs, withheld) = expand(node, vertex, reach) else {
        stopped.append(node)
        continue
      }
      edges += inputs
      guard !reach.isSuperset(of: Reach(withheld)) else { continue }
      reach.formUnion(Reach(withheld))
      for node in stopped {
        let vertex = find(node)
        guard vertices[vertex].upstream == nil else { continue }
        edges += expand(node, vertex, reach)?.inputs ?? []
      }
    }
  }

  /// Returns the futures that a future waits for and the request withheld there, or `nil` if the propagation is expected to
  /// stop there.
  private mutating func expand(
    _ node: Node, _ vertex: Int, _ reach: Reach
  ) -> (inputs: [Node], withheld: CancelRequest?)? {
    let (state, links) = node.lock.withLock { (node.state, node.state.isPending ? node.waitsFor : TinyArray()) }
    let ends = reach.union(Reach(state.requests.withheld)).contains(.endsLinger)
    let consumers = ends ? state.otherConsumers : Int(state.consumers)
    guard vertices[vertex].edges >= consumers || reach.contains(.passesOthers) && !state.isShared else { return nil }
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

  /// Adds a signal to its receiver's vertex. Returns the position of the vertex.
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

  /// Removes one expected edge to each of these vertices. If a vertex then expects no signal and has none, its edges follow.
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

  /// Queues a vertex that has received some but not all of the expected signals: the graph has changed, or has a cycle.
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
