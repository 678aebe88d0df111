import FutureTree

/// The loads and scopes that a reset would stop, with the futures that have interest in them.
///
/// ```swift
/// let preview = api.previewReset()
/// if !preview.loads.isEmpty { ask("Stop \(preview.loads.count) transfers and sign out?") }
/// print(preview)
/// // GET https://example.com/feed, held by Throttle, for title
/// ```
public struct ResetPreview: Sendable {
  /// A load in flight, or a stream whose transfer is in flight.
  public struct Load: Sendable {
    /// The method and the URL of the request, without its query.
    public let request: String
    /// Whether the response has arrived, and its body is being transferred.
    public let isStream: Bool
    /// Whether the load lingers in a ``Coalesce``: all its callers have cancelled.
    public let isLingering: Bool
    /// The names of the futures that the load waits for. The name of a layer says that this layer holds the request.
    public let holders: [String]
    /// The names of the last futures that wait for the load, without those of loads that share its work. If one of them has
    /// consumers that are no futures, such as awaiting tasks and tokens, the name is followed by their number.
    public let interested: [String]
    /// The tree of the load.
    public let tree: TreeSnapshot

    init(_ request: String, _ tree: TreeSnapshot, isStream: Bool = false) {
      self.request = request
      self.isStream = isStream
      self.tree = tree
      isLingering = tree.entries[0].isLingering
      holders = tree.pendingSources
      interested = isLingering ? [] : tree.lastConsumers(of: [0])
    }
  }

  /// A scope that `HTTPLoader.scope` created, and that has not completed.
  public struct Scope: Sendable {
    /// The name of the scope.
    public let name: String
    /// The names of the futures that the scope waits for. `open` says that it has not ended.
    public let holders: [String]
    /// The names of the last futures that wait for the scope or for its work, as in ``Load/interested``.
    public let interested: [String]
    /// The tree of the scope.
    public let tree: TreeSnapshot

    init(_ tree: TreeSnapshot) {
      self.tree = tree
      name = tree.entries[0].name
      holders = tree.pendingSources
      interested = tree.lastConsumers(of: [0] + tree.entries[0].upstream)
    }
  }

  /// The loads in the order in which they began. Loads that linger are last.
  public let loads: [Load]
  /// The scopes in the order in which they were created.
  public let scopes: [Scope]
}

extension HTTPLoader {
  /// Returns the loads and scopes that a reset would stop, without side effects.
  ///
  /// An ``Autocancel`` knows the loads and scopes that pass it, and a ``Coalesce`` knows the loads that linger. The preview of a
  /// chain without these layers is empty. The loads of undos are not listed: a reset waits for them.
  ///
  /// - Complexity: O(futures + edges) of the trees of the loads and scopes.
  public func previewReset() -> ResetPreview {
    let graph = PartGraph(self)
    let previews = graph.outermost(as: Autocancel.self).map(\.preview)
    let lingering = graph.outermost(as: (any LingeringLayer).self).flatMap(\.lingeringLoads)
    return ResetPreview(loads: previews.flatMap(\.loads) + lingering, scopes: previews.flatMap(\.scopes))
  }
}

/// A layer whose loads can continue after their last caller has cancelled.
protocol LingeringLayer: AnyObject {
  /// The loads whose callers have all cancelled.
  var lingeringLoads: [ResetPreview.Load] { get }
}

extension ResetPreview: CustomStringConvertible {
  /// A line for each load and each scope.
  public var description: String {
    let names = { (names: [String]) in names.isEmpty ? "nothing" : names.joined(separator: ", ") }
    let loads = loads.map { load in
      let state = load.isStream ? "stream" : "\(load.isLingering ? "lingering, " : "")held by \(names(load.holders))"
      return "\(load.request), \(state), for \(names(load.interested))"
    }
    let scopes = scopes.map { scope in
      "scope \(scope.name), waiting for \(names(scope.holders)), for \(names(scope.interested))"
    }
    return (loads + scopes).joined(separator: "\n")
  }
}

extension TreeSnapshot {
  /// The names of the sources that the marked future waits for.
  fileprivate var pendingSources: [String] {
    reached(from: [0], by: \.upstream).filter { $0.upstream.isEmpty && $0.state.isPending }.map(\.name)
  }

  /// The names of the futures that wait for some futures, and for which no future waits.
  fileprivate func lastConsumers(of indexes: [Int]) -> [String] {
    reached(from: indexes, by: \.waiters).filter { $0.waiters.isEmpty && $0.state.isPending }.map { entry in
      entry.consumers == 0 ? entry.name : "\(entry.name) (\(entry.consumers))"
    }
  }

  /// Some futures, and all that are reached from them in one direction, in the order of the snapshot.
  private func reached(from first: [Int], by direction: (Entry) -> [Int]) -> [Entry] {
    var (reached, next) = (Set(first), first)
    while let index = next.popLast() {
      for neighbor in direction(entries[index]) where reached.insert(neighbor).inserted { next.append(neighbor) }
    }
    return reached.sorted().map { entries[$0] }
  }
}
