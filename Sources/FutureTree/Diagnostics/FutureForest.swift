/// The pending futures connected with some roots. Each has a number while it is pending.
///
/// ```swift
/// let forest = FutureForest()
/// forest.add(posts)
/// let now = forest.snapshot()
/// for (member, future) in zip(now.members, now.tree.entries) { print(member.number, member.age, future.name) }
/// forest.cancel(3, .doNotForwardIfOthersWaiting, reason: "an operator asked")
/// ```
///
/// A tool that watches a program uses the numbers to request the cancellation of futures that it has only seen in a snapshot. The
/// forest retains no future.
///
/// - Note: All members can be used from any thread.
public final class FutureForest: Sendable {
  /// One future in a forest.
  public struct Member: Sendable, Hashable {
    /// The number of the future. No other future of the forest gets it.
    public let number: Int
    /// The time since the future was first in a snapshot.
    public let age: Duration
  }

  /// The futures of a forest at one time.
  public struct Snapshot: Sendable, Hashable {
    /// The futures. The roots are first, and marked.
    public let tree: TreeSnapshot
    /// The number and the age of each future, in the order of `tree.entries`.
    public let members: [Member]
  }

  fileprivate struct Root {
    weak var node: Node?
  }

  fileprivate struct Known {
    weak var node: Node?
    let number: Int
    let since: Duration
  }

  fileprivate struct State {
    var roots: [Int: Root] = [:]
    var lastRoot = 0
    var known: [ObjectIdentifier: Known] = [:]
    var nodes: [Int: ObjectIdentifier] = [:]
    var lastNumber = 0
  }

  private let state = Locked(State())
  private let clock: any FutureClock

  /// Creates an empty forest.
  ///
  /// - Parameter clock: The clock of the ages.
  public init(clock: any FutureClock = .system) {
    self.clock = clock
  }

  /// Adds a root. The forest shows it, and every future connected with it, while it is pending.
  public func add<Value>(_ root: Future<Value>) {
    guard !root.isCompleted else { return }
    let number = state.withLock { state in
      state.lastRoot += 1
      state.roots[state.lastRoot] = Root(node: root.node)
      return state.lastRoot
    }
    root.observe { [weak self] _ in
      _ = self?.state.withLock { $0.roots.removeValue(forKey: number) }
    }
  }

  /// Returns the pending futures now.
  ///
  /// - Complexity: O(futures + edges). Each future is locked only while its lists are copied.
  public func snapshot() -> Snapshot {
    let roots = pendingRoots()
    var nodes: [Node] = []
    let tree = TreeSnapshot(of: roots) { nodes = $0 }
    let now = clock.now
    let members = state.withLock { state in nodes.map { state.member(for: $0, at: now) } }
    forgetEnded(besides: Set(nodes.map(ObjectIdentifier.init)))
    return Snapshot(tree: tree, members: members)
  }

  /// Requests the cancellation of a future, as `Future.cancel(_:reason:)` does.
  ///
  /// - Parameters:
  ///   - number: The number of the future in a snapshot.
  ///   - options: The options of the request.
  ///   - reason: The reason of the request.
  ///   - fileID: The file of the request. Defaults to the file of the caller.
  ///   - line: The line of the request. Defaults to the line of the caller.
  /// - Returns: The receipt. `nil` if the future is not pending.
  @discardableResult
  public func cancel(
    _ number: Int, _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID,
    line: UInt = #line
  ) -> CancelReceipt? {
    let request = CancelRequest(options: options, reason: reason, fileID: fileID, line: line)
    return node(number).map { CancellationPropagation.run(Signal(node: $0, request: request)) }
  }

  /// Returns the receipt that `cancel` would return now, without side effects.
  ///
  /// - Parameters:
  ///   - number: The number of the future in a snapshot.
  ///   - options: The options of the request.
  /// - Returns: The receipt. `nil` if the future is not pending.
  public func previewCancel(_ number: Int, _ options: CancellationOptions = []) -> CancelReceipt? {
    let request = CancelRequest(options: options, reason: .unspecified)
    return node(number).map { CancellationPropagation.preview(Signal(node: $0, request: request)) }
  }

  /// Returns the snapshot of one future and every future connected with it. `nil` if the future is not pending.
  ///
  /// - Parameter number: The number of the future in a snapshot.
  public func tree(of number: Int) -> TreeSnapshot? { node(number).map(TreeSnapshot.init(of:)) }

  var rootCount: Int { state.withLock { $0.roots.count } }

  /// The number of futures that have a number.
  var knownCount: Int { state.withLock { $0.known.count + $0.nodes.count } }

  /// Returns a pending future.
  private func node(_ number: Int) -> Node? {
    let node = state.withLock { state in state.nodes[number].flatMap { state.known[$0]?.node } }
    return node?.ending == nil ? node : nil
  }

  /// Returns the pending roots in the order in which they were added. Strong references are released outside the lock.
  private func pendingRoots() -> [Node] {
    var seen: Set<ObjectIdentifier> = []
    return state.withLock { $0.roots }.sorted { $0.key < $1.key }.compactMap(\.value.node)
      .filter { $0.ending == nil && seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// Removes the numbers of futures that have completed or were deallocated.
  private func forgetEnded(besides seen: Set<ObjectIdentifier>) {
    let others = state.withLock { state in state.known.filter { !seen.contains($0.key) } }
    let ended = others.filter { $0.value.node.map { $0.ending != nil } ?? true }
    state.withLock { state in
      for (key, old) in ended where state.known[key]?.number == old.number {
        state.known[key] = nil
        state.nodes[old.number] = nil
      }
    }
  }
}

extension FutureForest.State {
  /// Returns the member for a future. A new one gets the next number.
  fileprivate mutating func member(for node: Node, at now: Duration) -> FutureForest.Member {
    let key = ObjectIdentifier(node)
    if let known = known[key] {
      if known.node === node { return FutureForest.Member(number: known.number, age: now - known.since) }
      nodes[known.number] = nil  // The memory of a deallocated future is used again.
    }
    lastNumber += 1
    known[key] = FutureForest.Known(node: node, number: lastNumber, since: now)
    nodes[lastNumber] = key
    return FutureForest.Member(number: lastNumber, age: .zero)
  }
}
