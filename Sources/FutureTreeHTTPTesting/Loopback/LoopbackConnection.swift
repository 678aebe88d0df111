/// A connection as recorded by a loopback server.
///
/// ```swift
/// let abandoned = server.connections.filter { $0.state == .closedByClient(while: "/slow") }
/// #expect(abandoned.count == 1)
/// ```
public struct LoopbackConnection: Sendable, Hashable {
  /// Whether a connection is open, or which side closed it.
  public enum State: Sendable, Hashable {
    /// The connection is open.
    case open
    /// The client closed or reset the connection before the answer to this path was finished. `nil` means that no answer
    /// was pending.
    case closedByClient(while: String?)
    /// The server closed the connection: by a step, for `Connection: close`, after a malformed request or in `stop()`.
    case closedByServer
  }

  /// The number of this connection in the order of arrival, starting at 1.
  public let id: Int

  /// Whether the connection is open, or which side closed it.
  public internal(set) var state = State.open

  /// The targets of the requests on this connection, in order.
  public internal(set) var targets: [String] = []

  /// The target, with its query, whose answer was unfinished when the client closed the connection.
  public internal(set) var abandonedTarget: String?

  /// The indices of its requests in the record.
  var requestIndices: [Int] = []
}

extension LoopbackConnection {
  /// The paths of the requests on this connection, in order: the targets without their queries.
  public var paths: [String] { targets.map { String($0.prefix { $0 != "?" }) } }

  /// The number of requests on this connection.
  public var requestCount: Int { targets.count }

  /// Returns whether the client closed the connection before the answer to this path or target was finished.
  public func wasAbandoned(while path: String) -> Bool {
    abandonedTarget == path || state == .closedByClient(while: path)
  }
}
