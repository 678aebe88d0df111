// A queue that runs one body at a time. Law 22 (ordering is not interest).

extension ContractModel {
  /// The queue of a program.
  struct Queue {
    /// The work that has not begun, in the order of its addition.
    var waiting: [Int] = []
    /// Whether work runs: its body has begun, and the future of the body has not completed.
    var isRunning = false
  }

  mutating func enqueue(_ node: Node) {
    nodes.append(node)
    nodes[nodes.count - 1].leavesQueue = true
    queue.waiting.append(nodes.count - 1)
    beginNext()
  }

  /// Frees the slot of work that has ended.
  mutating func advanceQueue() {
    queue.isRunning = false
    beginNext()
  }

  /// Begins urgent work before other work, and the earliest among equals.
  private mutating func beginNext() {
    guard !queue.isRunning,
      let first = queue.waiting.firstIndex(where: { nodes[$0].isUrgent }) ?? queue.waiting.indices.first
    else { return }
    let work = queue.waiting.remove(at: first)
    queue.isRunning = true
    tally[.ordering] += 1
    events.append(ModelEvent(kind: .body, id: work, request: nil, outcome: nil))
    perform(nodes[work].act)
    if case .using(let inner) = nodes[work].body {
      let isSealed = complete(work, .using(inner))
      if !isSealed { link(work, to: inner, isCleanUp: false) }
      if nodes[inner].outcome == nil { return nodes[inner].listeners.append(.queue) }
    } else {
      _ = complete(work, nodes[work].body)
    }
    turns.append(.advanceQueue)
  }

  /// The handler of queued work: it leaves the queue, and completes at once. If its body has begun, the request waits for the
  /// future of the body.
  mutating func leaveQueue(_ work: Int, _ request: ModelRequest) {
    nodes[work].leavesQueue = false
    nodes[work].hasDelivered = true
    let position = queue.waiting.firstIndex(of: work)
    if let position, mistake != .leavesCancelledWorkInTheQueue { queue.waiting.remove(at: position) }
    if position != nil || request.options.contains(.alone) { _ = complete(work, .cancelled, answering: request) }
  }
}
