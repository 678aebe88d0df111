/// What a server has seen so far, as a value.
public struct LoopbackRecord: Sendable {
  /// The requests, in the order in which they were complete.
  public internal(set) var requests: [LoopbackRequest] = []

  /// The connections, in the order in which they were accepted. The number of a connection is its position.
  public internal(set) var connections: [LoopbackConnection] = []

  /// How many connections are open.
  public var openConnections: Int { connections.count { $0.state == .open } }

  /// The paths of the requests whose connection the client closed before the answer was whole.
  public var abandonedPaths: [String] {
    connections.compactMap { connection in
      if case .closedByClient(let path) = connection.state { path } else { nil }
    }
  }

  /// Whether a request for this path has arrived.
  public func hasRequest(for path: String) -> Bool {
    requests.contains { $0.path == path }
  }
}

/// A request as it arrived.
public struct LoopbackRequest: Sendable, Hashable {
  /// One header field, byte for byte.
  public struct Field: Sendable, Hashable {
    public let name: String
    public let value: String
  }

  /// The number of the connection that brought it.
  public let connection: Int
  public let method: String
  /// The path and the query, as they stand in the request line.
  public let target: String
  /// The header fields, in the order in which they arrived.
  public let headers: [Field]
  public let body: [UInt8]

  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The values of the header fields with this name, compared without case.
  public func values(for name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }
}

/// A connection, and how it ended.
public struct LoopbackConnection: Sendable, Hashable {
  public enum State: Sendable, Hashable {
    case open
    /// The client closed it: while the answer to this path was not whole, or, if there is none, between requests.
    case closedByClient(while: String?)
    case closedByServer
    /// The client sent something that is not a request, and was refused.
    case refused(String)
  }

  public internal(set) var state: State = .open
  /// The paths that were requested over it, in order.
  public internal(set) var paths: [String] = []
}
