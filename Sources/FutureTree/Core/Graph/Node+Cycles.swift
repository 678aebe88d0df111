extension Node {
  /// Returns whether this future waits for another, with at most seven futures in between. Every link runs this search, so it
  /// is bounded: besides the first input of each join, it follows at most 64 inputs, and none of a join with more than 16.
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
