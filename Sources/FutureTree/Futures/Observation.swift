/// An observer that `observe` added to a future.
public struct Observation: Sendable {
  let node: Node
  let observer: Waiter

  /// Ends the observation: `body` is not called any more, unless it was called or queued before. O(1).
  public func end() {
    node.detach(observer)
  }
}
