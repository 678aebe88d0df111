extension Future {
  /// Returns a future of all values, in the order of the futures.
  ///
  /// ```swift
  /// let pages = Future.all(urls.map { api.page($0) })
  /// ```
  ///
  /// The first failure or cancellation decides; then the futures left are let go of: each is asked to stop with
  /// `doNotForwardIfOthersWaiting` (law 23). A request to cancel is forwarded to all that are unfinished.
  ///
  /// - Returns: a consumer of each future. With no futures, a success with no values.
  /// - Complexity: O(n).
  public static func all(_ futures: [Future]) -> Future<[Value]> {
    guard !futures.isEmpty else { return .succeeded([]) }
    let join = AllNode(futures)
    join.start()
    return Future<[Value]>(node: join)
  }
}

/// Counts the successes of its inputs, and gathers their values from them when all are there.
private final class AllNode<Value: Sendable>: Join, @unchecked Sendable {  // Because: guarded by the lock.
  @exclusivity(unchecked) private var inputs: [Future<Value>]
  @exclusivity(unchecked) private var unfinished: Int

  init(_ inputs: [Future<Value>]) {
    self.inputs = inputs
    unfinished = Set(inputs).count
    super.init(madeBy: .all) { entry, _, turn in
      let node = unsafeDowncast(entry, to: AllNode<Value>.self)
      switch turn {
      case .destroyValue: node.destroyValue(as: [Value].self)
      case .endedEarly: node.release()
      case .upstreamEnded, .bodyBegins, .bodyDropped: break
      }
      return false
    }
  }

  func start() {
    // A future that is there twice has one slot: the join is one consumer of it.
    var seen: Set<Future<Value>> = []
    wait(for: inputs.filter { seen.insert($0).inserted }.map(\.node)) { entry, input, turn in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return unsafeDowncast(slot.join, to: AllNode<Value>.self).told(slot, input, turn)
    }
  }

  private func told(_ slot: Slot, _ input: Node, _ turn: Turn) -> Bool {
    guard told(slot) else { return false }
    var hasEnded = false
    if turn == .endedEarly {
      hasEnded = decideCancelled(.unspecified)
    } else if input.state.ending != .succeeded {
      hasEnded = decide(as: input)
    } else if countDown() {
      hasEnded = succeed(inputs.map { $0.node.value(as: Value.self) })
    }
    if hasEnded { release() }
    return hasEnded
  }

  private func countDown() -> Bool {
    lock.withLock {
      unfinished -= 1
      return unfinished == 0
    }
  }

  private func release() {
    let inputs = lock.withLock {
      defer { self.inputs = [] }
      return self.inputs
    }
    _ = inputs  // Freed here, not under the lock.
    releaseSlots()
  }
}
