/// A picture of every future connected with one, as it was when it was taken.
///
/// ```swift
/// print(posts.tree())
/// ```
/// ```
/// GET /users/1             pending, 1 wants it
/// └─ user                  pending, 1 wants it
///    └─ posts              pending, 1 wants it  ← here
///       └─ first post      pending
/// ```
///
/// Sources stand on the left; what waits for them hangs below. Futures that have completed hold no links any more, so the
/// picture shows what is still under way. Each line is consistent; the tree may change between lines.
///
/// It draws itself as text, `dot()` and `mermaid()`, and can be stored; see <doc:Pictures>.
public struct TreeSnapshot: Sendable, Hashable {
  /// One future.
  public struct Entry: Sendable, Hashable, Codable {
    /// The name that `named(_:)` gave it, or what made it.
    public let name: String
    /// What it is doing, or how it ended.
    public let state: State
    /// How many want its value: derived futures, tokens, awaiting tasks.
    public let consumers: Int
    /// What was asked of it, and took effect.
    public let request: CancelRequest?
    /// What was asked of it, and waits until the others who want its value have left.
    public let withheldRequest: CancelRequest?
    /// Whether `shared()` marked it.
    public let isShared: Bool
    /// Whether the picture was taken of this future.
    public let isMarked: Bool
    /// The line that made its promise, in debug builds of this package, or else gave it its name; nil if neither is known.
    ///
    /// Other futures do not know it: to pass the line to every operator costs the calls, to keep it the futures.
    public let createdAt: CodeLocation?
    /// The futures that wait for it, as positions in `entries`.
    public internal(set) var waiters: [Int]
    /// The futures that it waits for, as positions in `entries`.
    public internal(set) var upstream: [Int]

    private enum CodingKeys: String, CodingKey {
      case name, state, consumers, waiters, upstream, createdAt
      case request = "asked"
      case withheldRequest = "withheld"
      case isShared = "shared"
      case isMarked = "marked"
    }
  }

  /// What a future is doing, or how it ended.
  public enum State: Sendable, Hashable {
    /// It waits for its promise or its upstream.
    case pending
    /// Its body waits for an executor.
    case queued
    /// Its body runs.
    case running
    /// It has a value, which no picture shows.
    case succeeded
    /// It has an error: its description.
    case failed(String)
    /// It was given up, and why.
    case cancelled(CancellationReason)
  }

  /// The futures, the one that the picture was taken of first.
  public let entries: [Entry]
}

extension Future {
  /// Takes a picture of every future that is connected with this one.
  ///
  /// Errors are described on the calling thread, under no lock.
  ///
  /// - Complexity: O(futures + edges) time and memory. No future is held up longer than it takes to copy its lists.
  public func tree() -> TreeSnapshot {
    TreeSnapshot(of: node)
  }
}

extension TreeSnapshot {
  init(of marked: Node) {
    var nodes = [marked]
    var positions = [ObjectIdentifier(marked): 0]
    func position(of node: Node) -> Int {
      if let position = positions[ObjectIdentifier(node)] { return position }
      positions[ObjectIdentifier(node)] = nodes.count
      nodes.append(node)
      return nodes.count - 1
    }
    var entries: [Entry] = []
    while entries.count < nodes.count {
      let node = nodes[entries.count]
      let (entry, waiters, upstream) = TreeSnapshot.entry(of: node, isMarked: node === marked)
      entries.append(entry)
      entries[entries.count - 1].waiters = waiters.map(position)
      entries[entries.count - 1].upstream = upstream.map(position)
    }
    self.entries = entries
  }

  private static func entry(of node: Node, isMarked: Bool) -> (Entry, waiters: [Node], upstream: [Node]) {
    let (state, name, place, waiters, upstream) = node.lock.withLock {
      (node.state, node.details?.name, node.place, node.state.isPending ? node.waiters.entries : [], node.waitsFor)
    }
    let entry = Entry(
      name: name ?? state.createdBy.name, state: picture(of: state, node), consumers: Int(state.consumers),
      request: state.requests.asked, withheldRequest: state.requests.withheld, isShared: state.isShared,
      isMarked: isMarked, createdAt: place, waiters: [], upstream: [])
    return (entry, waiters.compactMap(\.owner), upstream.map(\.node))
  }

  private static func picture(of state: FutureState, _ node: Node) -> State {
    switch state.phase {
    case .waiting, .linked: .pending
    case .queued: .queued
    case .running: .running
    case .succeeded: .succeeded
    case .failed: .failed("\(node.error)")
    case .cancelled: .cancelled(node.cancellationReason)
    }
  }
}
