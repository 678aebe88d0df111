/// A snapshot of a future and every future connected to it.
///
/// ```swift
/// print(posts.tree())
/// ```
/// ```
/// GET /users/1             pending, 1 consumer
/// └─ user                  pending, 1 consumer
///    └─ posts              pending, 1 consumer  ← here
///       └─ first post      pending
/// ```
///
/// Sources are on the left. The futures that wait for a future are listed below it. Completed futures have no links, so a
/// snapshot shows the work in flight. Each line is consistent; the tree can change between lines.
///
/// A snapshot is text, and can be stored. The module FutureTreePictures also makes diagrams and pages of it: see its
/// article *Inspecting a tree*.
public struct TreeSnapshot: Sendable, Hashable {
  /// One future in a snapshot.
  public struct Entry: Sendable, Hashable, Codable {
    /// The name that `named(_:)` set, or the operator that created the future.
    public package(set) var name: String
    /// The state of the future.
    public package(set) var state: State
    /// What the work of a pending promise is doing, such as `receiving 12 of 100 bytes`. `nil` if the promise does not say: see
    /// `Promise.describeActivity(of:_:)`.
    public package(set) var activity: String?
    /// The number of consumers: derived futures, tokens, awaiting tasks, blocked threads.
    public package(set) var consumers: Int
    /// The cancellation request that took effect on the future.
    public package(set) var request: CancelRequest?
    /// The cancellation request that is withheld until the other consumers withdraw their interest.
    public package(set) var withheldRequest: CancelRequest?
    /// Whether `shared()` marked the future.
    public let isShared: Bool
    /// Whether `tree()` was called on this future.
    public let isMarked: Bool
    /// The line that created the promise, in debug builds of this package, otherwise the line that named the future. `nil`
    /// if neither is known.
    ///
    /// Other futures do not record a line, because that would make every operator call slower and every future larger.
    public let createdAt: CodeLocation?
    /// The futures that wait for this one, as indexes in `entries`.
    public package(set) var waiters: [Int]
    /// The futures that this one waits for, as indexes in `entries`.
    public package(set) var upstream: [Int]

    /// Whether the withheld request is scheduled: the future was marked with `shared(linger:clock:)`, and its last consumer
    /// has withdrawn.
    public var isLingering: Bool { withheldRequest != nil && consumers == 0 }

    private enum CodingKeys: String, CodingKey {
      case name, state, activity, consumers, waiters, upstream, createdAt
      case request = "asked"
      case withheldRequest = "withheld"
      case isShared = "shared"
      case isMarked = "marked"
    }
  }

  /// The state of a future in a snapshot.
  public enum State: Sendable, Hashable {
    /// The future waits for its promise or its upstream.
    case pending
    /// The body waits on an executor.
    case queued
    /// The body is running.
    case running
    /// The future succeeded. Snapshots do not show the value.
    case succeeded
    /// The future failed. The associated value is the description of the error.
    case failed(String)
    /// The future was cancelled, for this reason.
    case cancelled(CancellationReason)
  }

  /// The futures. The future on which `tree()` was called is first.
  public let entries: [Entry]
}

extension Future {
  /// Returns a snapshot of this future and every future connected to it.
  ///
  /// Errors and activities are described on the calling thread, outside every lock.
  ///
  /// - Complexity: O(futures + edges) time and memory. Each future is locked only while its lists are copied.
  public func tree() -> TreeSnapshot {
    TreeSnapshot(of: node)
  }

  /// The futures of this tree whose bodies wait on an executor, with the names of the executors.
  package var bodiesOnExecutors: [(future: String, executor: String)] {
    var bodies: [(future: String, executor: String)] = []
    _ = TreeSnapshot(of: [node]) { nodes in
      bodies = nodes.compactMap { node in
        node.lock.withLock {
          node.state.phase == .queued ? (node.label, (node.details?.executor ?? .immediate).name) : nil
        }
      }
    }
    return bodies
  }
}

extension TreeSnapshot.Entry {
  /// Creates the entry of a future about which nothing is known.
  package init(name: String) {
    self.init(
      name: name, state: .pending, activity: nil, consumers: 0, request: nil, withheldRequest: nil, isShared: false,
      isMarked: false,
      createdAt: nil, waiters: [], upstream: [])
  }
}

extension TreeSnapshot {
  init(of marked: Node) {
    self.init(of: [marked]) { _ in }
  }

  /// - Parameters:
  ///   - marked: The futures that are marked and come first.
  ///   - receive: Receives the futures in the order of the entries.
  init(of marked: [Node], _ receive: ([Node]) -> Void) {
    var nodes = marked
    var positions = Dictionary(marked.enumerated().map { (ObjectIdentifier($1), $0) }) { first, _ in first }
    func position(of node: Node) -> Int {
      if let position = positions[ObjectIdentifier(node)] { return position }
      positions[ObjectIdentifier(node)] = nodes.count
      nodes.append(node)
      return nodes.count - 1
    }
    var entries: [Entry] = []
    while entries.count < nodes.count {
      let node = nodes[entries.count]
      let (entry, waiters, upstream) = TreeSnapshot.entry(of: node, isMarked: entries.count < marked.count)
      entries.append(entry)
      entries[entries.count - 1].waiters = waiters.map(position)
      entries[entries.count - 1].upstream = upstream.map(position)
    }
    self.entries = entries
    receive(nodes)
  }

  private static func entry(of node: Node, isMarked: Bool) -> (Entry, waiters: [Node], upstream: [Node]) {
    let (state, name, place, activity, waiters, upstream) = node.lock.withLock {
      (
        node.state, node.label, node.place, node.activity,
        node.state.isPending ? node.waiters.entries : [], node.waitsFor
      )
    }
    let entry = Entry(
      name: name, state: picture(of: state, node), activity: activity?.current?.text, consumers: state.otherConsumers,
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

/// Encoded as `{"futures": [{"name": "user", "state": {"kind": "pending"}, …}]}`.
///
/// The field names are stable; later versions may add fields. The article *Inspecting a tree* of FutureTreePictures lists them.
extension TreeSnapshot: Codable {
  private enum CodingKeys: String, CodingKey {
    case entries = "futures"
  }

  /// - Throws: `DecodingError` if the data is invalid, or if a future refers to a future that is not in the snapshot.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    entries = try container.decode([Entry].self, forKey: .entries)
    for (position, entry) in entries.enumerated() {
      let neighbours = entry.waiters + entry.upstream
      guard let wrong = neighbours.first(where: { !entries.indices.contains($0) }) else { continue }
      throw DecodingError.dataCorruptedError(
        forKey: .entries, in: container,
        debugDescription: "Future \(position) refers to future \(wrong), but there are \(entries.count).")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entries, forKey: .entries)
  }
}

/// Encoded as `{"kind": "failed", "error": "…"}`, `{"kind": "cancelled", "reason": {…}}`, or an object with only a kind.
extension TreeSnapshot.State: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, error, reason
  }

  private enum Kind: String, Codable {
    case pending, queued, running, succeeded, failed, cancelled
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .kind) {
    case .pending: self = .pending
    case .queued: self = .queued
    case .running: self = .running
    case .succeeded: self = .succeeded
    case .failed: self = .failed(try container.decode(String.self, forKey: .error))
    case .cancelled: self = .cancelled(try container.decode(CancellationReason.self, forKey: .reason))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .pending: try container.encode(Kind.pending, forKey: .kind)
    case .queued: try container.encode(Kind.queued, forKey: .kind)
    case .running: try container.encode(Kind.running, forKey: .kind)
    case .succeeded: try container.encode(Kind.succeeded, forKey: .kind)
    case .failed(let error):
      try container.encode(Kind.failed, forKey: .kind)
      try container.encode(error, forKey: .error)
    case .cancelled(let reason):
      try container.encode(Kind.cancelled, forKey: .kind)
      try container.encode(reason, forKey: .reason)
    }
  }
}
