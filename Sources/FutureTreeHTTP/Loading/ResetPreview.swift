import FutureTree

/// The loads that a reset would stop, with the futures that have interest in them.
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
    /// The names of the futures that the load waits for. The name of a layer says that this layer holds the request.
    public let holders: [String]
    /// The names of the last futures that wait for the load. If one of them has consumers that are no futures, such as awaiting
    /// tasks and tokens, the name is followed by their number.
    public let interested: [String]
    /// The tree of the load.
    public let tree: TreeSnapshot

    init(_ request: HTTPRequest, _ tree: TreeSnapshot, isStream: Bool = false) {
      self.request = request.description
      self.isStream = isStream
      self.tree = tree
      holders = tree.entries.filter { $0.upstream.isEmpty && $0.state.isInFlight }.map(\.name)
      interested = tree.entries.filter { $0.waiters.isEmpty && $0.state.isInFlight }.map { entry in
        entry.consumers == 0 ? entry.name : "\(entry.name) (\(entry.consumers))"
      }
    }
  }

  /// The loads in the order in which they began.
  public let loads: [Load]
}

extension HTTPLoader {
  /// Returns the loads that a reset would stop, without side effects.
  ///
  /// An ``Autocancel`` knows all loads that pass it. A chain without one has an empty preview.
  ///
  /// - Complexity: O(futures + edges) of the trees of the loads.
  public func previewReset() -> ResetPreview {
    ResetPreview(loads: layers(as: (any ResetTracking).self).flatMap(\.stoppedLoads))
  }
}

extension ResetPreview: CustomStringConvertible {
  /// A line for each load.
  public var description: String {
    loads.map { load in
      let holders = load.holders.joined(separator: ", ")
      let interested = load.interested.isEmpty ? "nothing" : load.interested.joined(separator: ", ")
      return "\(load.request), \(load.isStream ? "stream" : "held by \(holders)"), for \(interested)"
    }.joined(separator: "\n")
  }
}

extension TreeSnapshot.State {
  fileprivate var isInFlight: Bool {
    switch self {
    case .pending, .queued, .running: true
    case .succeeded, .failed, .cancelled: false
    }
  }
}
