/// How futures come into a log, and what they tell it.
///
/// Whether a future is in one is a bit of its state, at which the hot path looks; everything here is off that path. Events
/// are numbered under the lock of their future, and recorded when it was released.
extension Node {
  private var membership: LogMembership? { lock.withLock { details?.membership } }

  /// Called under the lock, or before anybody else knows this future.
  private func enter(_ log: any NodeLog) -> LogMembership {
    let membership = LogMembership(log, name: details?.name ?? state.createdBy.name)
    details = Details(
      name: details?.name, place: details?.place, executor: details?.executor ?? .immediate, membership: membership)
    state.isLogged = true
    return membership
  }

  // MARK: - Links

  /// A future that nobody else knows yet comes into the log of this one, from which it was made. Called under the lock.
  func shareLog(withNew derived: Waiter) {
    guard let log = details?.membership?.log, let derived = derived.owner, !derived.state.isLogged else { return }
    derived.enter(log).firstNumber = log.takeNumbers(2)
  }

  /// The same after this future has ended.
  func shareLogAfterEnd(withNew derived: Node) {
    lock.withLock { shareLog(withNew: derived) }
    recordNew(derived)
  }

  /// An entry has begun to wait for this future, which is in a log.
  func recordLink(from entry: Waiter, isNew: Bool) {
    guard let owner = entry.owner else { return }
    if isNew { recordNew(owner) } else { recordKnown(owner) }
  }

  private func recordNew(_ derived: Node) {
    guard let input = membership, let (membership, name) = derived.lock.withLock({ derived.membershipAndName }),
      membership.firstNumber > 0
    else { return }
    let number = membership.firstNumber
    LogNote(membership, name: name, number: number, .created).record()
    LogNote(membership, name: name, number: number + 1, .linked(to: input.future)).record()
  }

  private func recordKnown(_ owner: Node) {
    guard let input = membership else { return }
    input.log.add(treeOf: owner, as: owner is Join ? .created : .joined)
    owner.lock.withLock { owner.note(.linked(to: input.future), in: input.log) }?.record()
  }

  /// This future waits for `input`, which comes into the same log with all that is connected with it.
  func shareLog(withInput input: Node) {
    membership?.log.add(treeOf: input)
  }

  /// Called under the lock.
  private var membershipAndName: (LogMembership, String)? { details?.membership.map { ($0, $0.name) } }

  /// Called under the lock. Nil if this future is not in the log.
  private func note(_ fact: FutureEvent.Fact, in log: any NodeLog) -> LogNote? {
    guard let membership = details?.membership, membership.log === log else { return nil }
    return membership.note(fact)
  }

  /// It got a name. Called under the lock. Nil if it is in no log.
  func note(ofName name: String) -> LogNote? {
    details?.membership?.name = name
    return details?.membership?.note(.named)
  }

  // MARK: - Requests

  /// The number of a request that has come. Called under the lock, of a future that is in a log.
  func numberRequest() -> Int {
    details?.membership?.log.takeNumbers() ?? 0
  }

  func note(_ fact: FutureEvent.Fact, number: Int) -> LogNote? {
    lock.withLock {
      details?.membership.map { LogNote($0, name: $0.name, number: number, fact) }
    }
  }

  // MARK: - The end

  /// Called under the lock, when a future that is in a log ends.
  func numberEnd() {
    guard let membership = details?.membership else { return }
    membership.endNumber = membership.log.takeNumbers()
  }

  /// Called once a future that is in a log has ended, by the thread that will tell its waiters.
  func recordEnd() {
    guard let ending = state.ending else { return }
    let taken = lock.withLock { () -> (LogMembership, String, Int)? in
      guard let membership = details?.membership, let number = membership.endNumber.take() else { return nil }
      return (membership, membership.name, number)
    }
    guard let (membership, name, number) = taken else { return }
    let fact: FutureEvent.Fact =
      switch ending {
      case .succeeded: .succeeded
      case .failed: .failed("\(error)")
      case .cancelled: .cancelled(cancellationReason)
      }
    LogNote(membership, name: name, number: number, fact).record()
  }
}

extension NodeLog {
  /// Takes in a future and all that are connected with it, as far as they are pending and in no log.
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
      guard let (note, waiters, inputs) = node.join(self, as: index == 0 ? fact : .joined) else {
        index += 1
        continue
      }
      note.record()
      added.insert(ObjectIdentifier(node))
      links += waiters.map { ($0, node) } + inputs.map { (node, $0) }
      for neighbour in waiters + inputs where seen.insert(ObjectIdentifier(neighbour)).inserted {
        found.append(neighbour)
      }
      index += 1
    }
    recordLinks(links, among: added)
  }

  /// Both ends of a link between two that are new know it: it is recorded once.
  private func recordLinks(_ links: [(waiting: Node, input: Node)], among added: Set<ObjectIdentifier>) {
    var known: Set<[ObjectIdentifier]> = []
    for (waiting, input) in links {
      let isShared = added.contains(ObjectIdentifier(waiting)) && added.contains(ObjectIdentifier(input))
      if isShared, !known.insert([ObjectIdentifier(waiting), ObjectIdentifier(input)]).inserted { continue }
      guard let id = input.number(in: self) else { continue }
      waiting.link(to: id, in: self)?.record()
    }
  }
}

extension Node {
  /// Comes into a log. Nil if it has ended or is in one.
  fileprivate func join(
    _ log: any NodeLog, as fact: FutureEvent.Fact
  ) -> (note: LogNote, waiters: [Node], inputs: [Node])? {
    let joined = lock.withLock { () -> (LogNote, [Waiter], TinyArray<Link>)? in
      guard state.isPending, !state.isLogged else { return nil }
      return (enter(log).note(fact), waiters.entries, waitsFor)
    }
    guard let (note, waiters, links) = joined else { return nil }
    return (note, waiters.compactMap(\.owner), links.map(\.node))
  }

  /// The number of this future in a log, if it is there.
  fileprivate func number(in log: any NodeLog) -> Int? {
    lock.withLock { details?.membership.flatMap { $0.log === log ? $0.future : nil } }
  }

  fileprivate func link(to input: Int, in log: any NodeLog) -> LogNote? {
    lock.withLock { note(.linked(to: input), in: log) }
  }
}
