/// The pending work of a trampoline, first in, first out.
///
/// Work is plain bits: copying and releasing an enum with counted references costs more than notifying a future. The queue owns
/// one reference to each object that its work refers to. The caller of `popFirst` or `takeChained` takes over that reference.
struct WorkQueue {
  enum Work {
    /// A future has ended, and its waiters take their turns.
    case notify(Unmanaged<Node>)
    /// One entry takes its turn and is released.
    case turn(Unmanaged<Waiter>, upstream: Unmanaged<Node>, Node.Turn)
    case call(Unmanaged<ListEntry>)
  }

  /// The next work, if it is a future that has ended. A chain never needs the array.
  private var chained: Unmanaged<Node>?
  private var others: [Work] = []
  private var taken = 0

  var isEmpty: Bool { chained == nil && taken == others.count }

  mutating func append(_ work: Work) {
    others.append(work)
  }

  /// Adds a future that has ended. The queue takes over the caller's reference.
  @inline(__always)
  mutating func append(_ node: Unmanaged<Node>) {
    if isEmpty { chained = node } else { append(.notify(node)) }
  }

  @inline(__always)
  mutating func takeChained() -> Unmanaged<Node>? {
    chained.take()
  }

  /// Removes and returns the next work if no future is chained.
  mutating func popFirst() -> Work? {
    guard taken < others.count else { return nil }
    let work = others[taken]
    taken += 1
    if taken > 1_000, taken * 2 > others.count {
      others.removeSubrange(..<taken)
      taken = 0
    }
    return work
  }

  /// Releases the memory of an empty queue, unless it is small.
  mutating func trim() {
    guard taken > 0 else { return }
    others.removeAll(keepingCapacity: others.capacity <= 1_000)
    taken = 0
  }
}

/// The current turns of a thread. There are several if a callback blocks or an executor runs a job at once.
struct TurnStack {
  /// The entry whose turn it is. Like `outer`, it is retained by the loop that runs its turn.
  var current: Unmanaged<Waiter>?
  private var outer: [Unmanaged<Waiter>] = []
  /// A future and the inner future that its body returned. They are linked when the current turn is over.
  var link: (node: Node, inner: Node)?

  func isCurrent(_ node: Node) -> Bool {
    current?.toOpaque() == Unmanaged.passUnretained(node as Waiter).toOpaque()
  }

  func contains(_ node: Node) -> Bool {
    isCurrent(node) || outer.contains { $0.toOpaque() == Unmanaged.passUnretained(node as Waiter).toOpaque() }
  }

  mutating func beginNested() -> Unmanaged<Waiter>? {
    if let current { outer.append(current) }
    return current
  }

  mutating func endNested(in entry: Unmanaged<Waiter>?) {
    if entry != nil { outer.removeLast() }
    current = entry
  }
}
