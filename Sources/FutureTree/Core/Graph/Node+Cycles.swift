extension Node {
  /// Whether this future waits for another, with at most seven in between. Every link is checked, so that the search is bounded:
  /// it follows at most 64 inputs of joins besides the first of each, and none of a join with more than 16.
  func waits(for other: Node) -> Bool {
    var inputsLeft = 64
    return waits(for: other, within: 8, &inputsLeft)
  }

  private func waits(for other: Node, within length: Int, _ inputsLeft: inout Int) -> Bool {
    var node = self
    for length in (0..<length).reversed() {
      guard node.state.createdBy.isJoin else {
        guard let upstream = node.lock.withLock({ node.upstream?.takeUnretainedValue() }) else { return false }
        if upstream === other { return true }
        node = upstream
        continue
      }
      let links = node.lock.withLock { node.hasManyInputs ? TinyArray() : node.waitsFor }
      guard let first = links.first else { return false }
      for link in links.others {
        inputsLeft -= 1
        if inputsLeft < 0 { return false }
        if link.node === other || link.node.waits(for: other, within: length, &inputsLeft) { return true }
      }
      if first.node === other { return true }
      node = first.node
    }
    return false
  }
}

/// The error of a future that was completed with itself, or with one that waits for it, by its promise or by a body.
///
/// It would wait for its own outcome for ever. Cycles of up to nine futures are detected. Longer ones, and those through a
/// join of more than 16 futures, are not: `tree()` shows them, and they keep what their bodies captured.
public struct CompletedWithItself: Error, Hashable, CustomStringConvertible {
  /// For tests of what handles it.
  public init() {}

  public var description: String {
    "A future was completed with itself, or with a future that depends on it. It would never complete. "
      + "Complete it with a value or with an independent future."
  }
}
