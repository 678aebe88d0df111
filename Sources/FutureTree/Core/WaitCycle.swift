/// The search for futures that wait for each other. Every link runs it, so it is bounded: it follows at most seven futures
/// between two, and besides the first input of each join 64 inputs, and none of a join with more than 16.
extension Node {
  /// Returns whether this future is another, or waits for it.
  func waits(for other: Node) -> Bool {
    var search = WaitSearch(other: other)
    return search.finds(from: self, within: WaitSearch.longest)
  }

  /// Returns the error of a future that would never end, because this future waits for it.
  func cycle(through other: Node) -> (any Error)? {
    // Most inner futures are sources, which wait for nothing.
    if state.createdBy.isSource, state.createdBy != .futureQueue, lock.withLock({ upstream == nil }) { return nil }
    var search = WaitSearch(other: other)
    guard search.finds(from: self, within: WaitSearch.longest) else { return nil }
    return search.queued.map { WaitsForOwnQueue($0) } ?? CompletedWithItself()
  }
}

private struct WaitSearch {
  /// The maximum length of a path.
  static let longest = 8

  let other: Node
  private var inputsLeft = 64
  /// The futures of queued work on the current path: work that waits for itself is not searched again.
  private var path: [Node] = []
  /// The queued work through which the search went.
  private(set) var queued: Source?

  init(other: Node) { self.other = other }

  /// Returns whether a future is `other`, or waits for it.
  ///
  /// - Parameter expires: Whether a timeout is between the start of the search and this future. Then a queue holds nothing up: the
  ///   timeout frees the slot.
  mutating func finds(from start: Node, within length: Int, expires: Bool = false) -> Bool {
    var (node, length, expires) = (start, length, expires)
    while node !== other {
      guard length > 0 else { return false }
      length -= 1
      expires = expires || node.state.createdBy == .timeout
      guard node.state.createdBy.isJoin else {
        guard let upstream = node.lock.withLock({ node.upstream?.takeUnretainedValue() }) else {
          guard node.state.createdBy == .futureQueue, !expires else { return false }
          return isHeldUp(unsafeDowncast(node, to: Source.self), length)
        }
        node = upstream
        continue
      }
      let links = node.lock.withLock { node.hasManyInputs ? TinyArray() : node.waitsFor }
      guard let first = links.first else { return false }
      if node.state.createdBy.endsWithOneInput { return findsByEach(links, of: node, within: length, expires) }
      for link in links.others {
        inputsLeft -= 1
        if inputsLeft < 0 { return false }
        if finds(from: link.node, within: length, expires: expires) { return true }
      }
      node = first.node
    }
    return !expires || path.isEmpty
  }

  /// Returns whether a join that one input decides waits for `other`. A queue holds it up only by all its inputs.
  private mutating func findsByEach(
    _ links: TinyArray<Node.Link>, of join: Node, within length: Int, _ expires: Bool
  ) -> Bool {
    var found = 0
    for link in links {
      inputsLeft -= 1
      guard inputsLeft >= 0 else { return false }
      queued = nil
      guard finds(from: link.node, within: length, expires: expires) else { continue }
      if path.isEmpty, queued == nil { return true }
      found += 1
    }
    return found == links.count && !join.lock.withLock { join.inputIsAboutToDecide }
  }

  /// Returns whether work waits in a queue whose slots are all held by work that waits for `other`, or for work that is held
  /// up in the same way.
  private mutating func isHeldUp(_ source: Source, _ length: Int) -> Bool {
    if path.contains(where: { $0 === source }) { return true }
    let works = source.worksAhead
    guard !works.isEmpty else { return false }
    path.append(source)
    defer { path.removeLast() }
    for work in works {
      inputsLeft -= 1
      guard inputsLeft >= 0, finds(from: work, within: length) else { return false }
    }
    queued = source
    return true
  }
}

/// The error of a future whose promise or body completed it with itself, or with a future that waits for it.
///
/// Such a future would never complete. Cycles of up to nine futures are detected. Longer cycles, and cycles through a join of
/// more than 16 futures, are not detected. `tree()` shows them, and they keep the captures of their bodies alive.
public struct CompletedWithItself: Error, Hashable, CustomStringConvertible {
  /// Creates the error, for tests of error handling.
  public init() {}

  public var description: String {
    "A future was completed with itself, or with a future that depends on it. It would never complete. "
      + "Complete it with a value or with an independent future."
  }
}

/// The error of work in a ``FutureQueue`` that waits for queued work of the same queue, which waits for its slot.
///
/// ```swift
/// let writes = FutureQueue()
/// let outer = writes.add { writes.add { .succeeded(1) }.named("inner") }.named("outer")
/// outer.onFailure { print($0) }  // The work "inner" waits in a FutureQueue for a slot. "outer" has it, …
/// ```
///
/// Neither would complete. The future that closes the cycle fails. The queued work then begins. With several slots, this
/// is the case if all of them are held by such work. Work that a timeout or another input of a race can end does not
/// count. Cycles are detected in the bounds of ``CompletedWithItself``, and up to 64
/// slots. A body that awaits a future in a task, or blocks its thread, is not detected: `waiting` and `runningCount` of the
/// queue show that nothing moves.
public struct WaitsForOwnQueue: Error, Hashable, CustomStringConvertible {
  /// The name of the queued future.
  public let queued: String
  /// The names of the futures whose work has the slots.
  public let running: [String]

  fileprivate init(_ source: Source) {
    let label = { (node: Node) in node.lock.withLock { node.label } }
    queued = label(source)
    running = source.worksAhead.map(label)
  }

  public var description: String {
    let names = running.map { "\"\($0)\"" }.joined(separator: ", ")
    let cause = running.count == 1 ? "has it, and waits" : "have all, and wait"
    return "The work \"\(queued)\" waits in a FutureQueue for a slot. \(names) \(cause) for "
      + "\"\(queued)\". Neither would complete. Begin the inner work without the queue, or use another queue for it."
  }
}
