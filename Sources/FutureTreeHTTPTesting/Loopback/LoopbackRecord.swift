/// All that a loopback server has seen at one moment, as a value that does not change.
///
/// ```swift
/// let record = try await server.waitUntil { $0.requestCount(to: "/refresh") == 1 && $0.openConnectionCount == 0 }.value
/// #expect(record.abandonedPaths == ["/slow"])
/// ```
public struct LoopbackRecord: Sendable, Hashable {
  /// The requests, in the order in which their heads arrived.
  public internal(set) var requests: [LoopbackRequest] = []

  /// The connections, in the order in which they were accepted.
  public internal(set) var connections: [LoopbackConnection] = []

  /// How many connections are open.
  ///
  /// - Complexity: O(1).
  public internal(set) var openConnectionCount = 0
}

extension LoopbackRecord {
  /// The paths whose answers were not finished when their clients closed the connection, by order of connection.
  public var abandonedPaths: [String] {
    connections.compactMap { connection in
      if case .closedByClient(let path) = connection.state { path } else { nil }
    }
  }

  /// The requests to a path, or to a target with its query.
  public func requests(to path: String) -> [LoopbackRequest] { requests.filter { $0.isTo(path) } }

  /// How many requests to a path, or to a target with its query, have arrived completely.
  public func requestCount(to path: String) -> Int { requests.count { $0.isComplete && $0.isTo(path) } }

  /// Whether a complete request to a path, or to a target with its query, has arrived.
  public func hasRequest(to path: String) -> Bool { requests.contains { $0.isComplete && $0.isTo(path) } }

  /// The requests that were none.
  public var malformedRequests: [LoopbackRequest] {
    requests.filter { if case .malformed = $0.progress { true } else { false } }
  }
}

extension LoopbackRecord: CustomStringConvertible {
  /// A line for each connection, with its end and its requests. No header and no body is shown.
  public var description: String {
    connections.map { connection in
      let seen = connection.requestIndices.map { requests[$0].summary }.joined(separator: ", ")
      return "connection \(connection.id), \(connection.state): \(seen)"
    }.joined(separator: "\n")
  }
}

extension LoopbackRequest {
  fileprivate var summary: String {
    switch progress {
    case .complete: "\(method) \(path)"
    case .receivingBody: "\(method) \(path) (\(body.count) bytes of its body)"
    case .malformed(let reason): "malformed: \(reason)"
    }
  }
}

/// Something that happened, to be written into the record.
enum LoopbackChange {
  case connectionOpened
  /// The number of the connection and of the request in its connection are filled in here.
  case requestBegan(LoopbackRequest, connection: Int)
  case bodyArrived(ArraySlice<UInt8>, connection: Int)
  case requestEnded(LoopbackRequest.Progress, trailers: [LoopbackRequest.Field], connection: Int)
  case connectionClosed(LoopbackConnection.State, abandoned: String?, connection: Int)
}

extension LoopbackRecord {
  mutating func apply(_ change: LoopbackChange) {
    switch change {
    case .connectionOpened:
      connections.append(LoopbackConnection(id: connections.count + 1))
      openConnectionCount += 1

    case .requestBegan(var request, let id):
      connections[id - 1].requestIndices.append(requests.count)
      connections[id - 1].targets.append(request.target)
      request.arrival = requests.count + 1
      request.connection = id
      request.sequence = connections[id - 1].requestCount
      requests.append(request)

    case .bodyArrived(let bytes, let id):
      guard let latest = connections[id - 1].requestIndices.last else { return }
      requests[latest].body.append(contentsOf: bytes)

    case .requestEnded(let progress, let trailers, let id):
      guard let latest = connections[id - 1].requestIndices.last else { return }
      requests[latest].progress = progress
      requests[latest].trailers = trailers

    case .connectionClosed(let state, let abandoned, let id):
      guard connections[id - 1].state == .open else { return }
      connections[id - 1].state = state
      connections[id - 1].abandonedTarget = abandoned
      openConnectionCount -= 1
    }
  }

  /// The request with this number of this connection.
  func request(_ sequence: Int, of connection: Int) -> LoopbackRequest {
    requests[connections[connection - 1].requestIndices[sequence - 1]]
  }
}
