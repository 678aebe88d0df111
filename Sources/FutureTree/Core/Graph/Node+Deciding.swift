/// Law 23: a future that ends before all its inputs have ended detaches from the others.
extension Node {
  /// Ends, and then detaches from the futures that this one still waits for.
  ///
  /// - Parameters:
  ///   - reason: The reason of the request to the futures that are left.
  ///   - end: ends this future, under its lock. Returns false if it had ended.
  final func decide(because reason: @autoclosure () -> CancellationReason, _ end: () -> Bool) -> Bool {
    let left: TinyArray<Link>? = lock.withLock {
      guard state.isPending else { return nil }
      let links = waitsFor
      return end() ? links : nil
    }
    guard let left else { return false }
    Node.leave(left, because: reason())
    return true
  }

  /// Withdraws the interest of entries whose futures have ended, with a request that stops where others wait.
  static func leave(_ links: TinyArray<Link>, because reason: @autoclosure () -> CancellationReason) {
    var request: CancelRequest?
    var signals: [Signal] = []
    // A future that has ended meanwhile would receive the request too late.
    links.each { link in
      guard link.node.ending == nil else { return }
      if request == nil { request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason()) }
      signals.append(Signal(node: link.node, request: request, sender: link.entry, departure: .leaves))
    }
    CancellationPropagation.run(signals)
  }
}
