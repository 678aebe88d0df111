/// A connection as a loopback server saw it.
///
/// ```swift
/// let abandoned = server.connections.filter { $0.state == .closedByClient(while: "/slow") }
/// #expect(abandoned.count == 1)
/// ```
public struct LoopbackConnection: Sendable, Hashable {
  /// Whether a connection is open, and who closed it if it is not.
  public enum State: Sendable, Hashable {
    /// Nobody has closed it.
    case open
    /// The client closed or reset it, while the answer to this path was not finished; nil: while none was owed.
    case closedByClient(while: String?)
    /// A step, a header `Connection: close`, a malformed request or `stop()` closed it.
    case closedByServer
  }

  /// The place of this connection in the order of arrival. The first has 1.
  public let id: Int

  /// Whether it is open, and who closed it if it is not.
  public internal(set) var state = State.open

  /// The targets that were requested on this connection, in order.
  public internal(set) var targets: [String] = []

  /// The target whose answer was not finished when the client closed the connection, with its query.
  public internal(set) var abandonedTarget: String?

  /// Where its requests stand in the record.
  var requestIndices: [Int] = []
}

extension LoopbackConnection {
  /// The paths that were requested on this connection, in order: the targets without their queries.
  public var paths: [String] { targets.map { String($0.prefix { $0 != "?" }) } }

  /// How many requests arrived on this connection.
  public var requestCount: Int { targets.count }

  /// Whether the client closed the connection while the answer to this path or target was not finished.
  public func wasAbandoned(while path: String) -> Bool {
    abandonedTarget == path || state == .closedByClient(while: path)
  }
}
