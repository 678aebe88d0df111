/// The monitor of a future in a log. It is deallocated with its future.
final class LogMembership: NodeMonitor, @unchecked Sendable {  // Because: its future's lock guards the variables.
  let log: FutureLog
  /// The number of the future in the log.
  let future: Int
  private let isPause: Bool
  private var name: String
  /// The number of the completion event, until the event is recorded.
  private var endNumber: Int?

  private init(_ log: FutureLog, of node: Node) {
    self.log = log
    future = log.takeFuture()
    isPause = node.isPause
    name = node.label
  }

  deinit {
    log.record(.released, of: future, isPause: isPause, named: name, number: log.takeNumber())
  }

  /// Adds a future to a log. Called under its lock, or before other code can access the future.
  static func add(_ node: Node, to log: FutureLog) -> LogMembership {
    let membership = LogMembership(log, of: node)
    node.details = Node.Details(replacing: node.details, monitor: membership)
    node.state.isRare = true
    return membership
  }

  /// Returns the membership of a future, or `nil` if it is not in the log. Called under the lock.
  static func of(_ node: Node, in log: FutureLog) -> LogMembership? {
    guard let membership = node.details?.monitor as? LogMembership, membership.log === log else { return nil }
    return membership
  }

  /// Numbers an event that happens now. Called under the lock. The returned closure records the event.
  func note(_ fact: FutureEvent.Fact) -> Node.AfterLock {
    let (number, name) = (log.takeNumber(), name)
    return { self.log.record(fact, of: self.future, isPause: self.isPause, named: name, number: number) }
  }

  override func observe(_ event: Event, of node: Node) -> Node.AfterLock? {
    switch event {
    case .named(let name):
      self.name = name
      return note(.named)
    case .received(let request?, .applied):
      return note(.cancelRequested(request))
    case .received(let request?, .withheld(let others)):
      return note(.withheld(request, by: others))
    case .received:
      return nil
    case .does(let activity):
      return node.state.isPending ? note(.activity(activity)) : nil
    case .makes(let derived):
      return addNew(derived)
    case .hasWaiter(let entry):
      guard let waiting = entry.owner else { return nil }
      return { self.addKnown(waiting) }
    case .waits(let input):
      return { self.log.add(treeOf: input) }
    case .ends:
      endNumber = log.takeNumber()
      return nil
    }
  }

  override func finishEnd(of node: Node) {
    guard let (number, name) = node.lock.withLock({ endNumber.take().map { ($0, name) } }) else { return }
    let fact: FutureEvent.Fact =
      switch node.endingOnceEnded {
      case .succeeded: .succeeded
      case .failed: .failed("\(node.error)")
      case .cancelled: .cancelled(node.cancellationReason)
      }
    log.record(fact, of: future, isPause: isPause, named: name, number: number)
  }

  /// Adds a future that was derived from this one to the same log.
  private func addNew(_ derived: Node) -> Node.AfterLock? {
    guard derived.details?.monitor == nil else { return nil }
    let new = LogMembership.add(derived, to: log)
    let (log, number, name, input) = (log, log.takeNumbers(2), new.name, future)
    return {
      log.record(.created, of: new.future, named: name, number: number)
      log.record(.linked(to: input), of: new.future, named: name, number: number + 1)
    }
  }

  /// Adds a future that began to wait for this one to the same log, with all futures connected to it.
  private func addKnown(_ waiting: Node) {
    log.add(treeOf: waiting, as: waiting is Join ? .created : .joined)
    waiting.lock.withLock { LogMembership.of(waiting, in: log)?.note(.linked(to: future)) }?()
  }
}

extension FutureLog {
  /// Adds a future and all futures connected to it, if they are pending and in no log.
  ///
  /// - Complexity: O(futures + edges).
  func add(treeOf node: Node, as fact: FutureEvent.Fact = .joined) {
    var found = [node]
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(node)]
    var added: Set<ObjectIdentifier> = []
    var links: [(waiting: Node, input: Node)] = []
    var index = 0
    while index < found.count {
      let node = found[index]
      index += 1
      guard let (waiters, inputs) = add(node, as: index == 1 ? fact : .joined) else { continue }
      added.insert(ObjectIdentifier(node))
      links += waiters.map { ($0, node) } + inputs.map { (node, $0) }
      for neighbour in waiters + inputs where seen.insert(ObjectIdentifier(neighbour)).inserted {
        found.append(neighbour)
      }
    }
    recordLinks(links, among: added)
  }

  /// Adds one future. Returns `nil` if it is completed or in a log.
  private func add(_ node: Node, as fact: FutureEvent.Fact) -> (waiters: [Node], inputs: [Node])? {
    let added = node.lock.withLock { () -> (Node.AfterLock, [Waiter], TinyArray<Node.Link>)? in
      guard node.state.isPending, node.details?.monitor == nil else { return nil }
      return (LogMembership.add(node, to: self).note(fact), node.waiters.entries, node.waitsFor)
    }
    guard let (report, waiters, links) = added else { return nil }
    report()
    return (waiters.compactMap(\.owner), links.map(\.node))
  }

  /// Records links. A link between two new futures is known to both and is recorded once.
  private func recordLinks(_ links: [(waiting: Node, input: Node)], among added: Set<ObjectIdentifier>) {
    var known: Set<[ObjectIdentifier]> = []
    for (waiting, input) in links {
      let isShared = added.contains(ObjectIdentifier(waiting)) && added.contains(ObjectIdentifier(input))
      if isShared, !known.insert([ObjectIdentifier(waiting), ObjectIdentifier(input)]).inserted { continue }
      guard let number = input.lock.withLock({ LogMembership.of(input, in: self)?.future }) else { continue }
      waiting.lock.withLock { LogMembership.of(waiting, in: self)?.note(.linked(to: number)) }?()
    }
  }
}
