/// A snapshot of the requests and connections that a loopback server has received.
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

  /// The number of open connections.
  ///
  /// - Complexity: O(1).
  public internal(set) var openConnectionCount = 0
}

extension LoopbackRecord {
  /// The paths whose answers were unfinished when their clients closed the connection, in the order of the connections.
  public var abandonedPaths: [String] {
    connections.compactMap { connection in
      if case .closedByClient(let path) = connection.state { path } else { nil }
    }
  }

  /// Returns the requests to a path, or to a target with its query.
  public func requests(to path: String) -> [LoopbackRequest] { requests.filter { $0.isTo(path) } }

  /// Returns the number of complete requests to a path, or to a target with its query.
  public func requestCount(to path: String) -> Int { requests.count { $0.isComplete && $0.isTo(path) } }

  /// Returns whether a complete request to a path, or to a target with its query, has arrived.
  public func hasRequest(to path: String) -> Bool { requests.contains { $0.isComplete && $0.isTo(path) } }

  /// The requests that were not valid HTTP/1.1.
  public var malformedRequests: [LoopbackRequest] {
    requests.filter { if case .malformed = $0.progress { true } else { false } }
  }
}

extension LoopbackRecord: CustomStringConvertible {
  /// One line per connection, with its state and its requests. Headers and bodies are not shown.
  public var description: String {
    connections.map { connection in
      let seen = connection.requestIndices.map { requests[$0].summary }.joined(separator: ", ")
      return "connection \(connection.id), \(connection.state.text): \(seen)"
    }.joined(separator: "\n")
  }
}

extension LoopbackConnection.State {
  fileprivate var text: String {
    switch self {
    case .open: "open"
    case .closedByClient(let path): "closed by the client" + (path.map { " during \($0)" } ?? "")
    case .closedByServer: "closed by the server"
    }
  }
}

extension LoopbackRequest {
  fileprivate var summary: String {
    switch progress {
    case .complete: "\(method) \(path)"
    case .receivingBody: "\(method) \(path) (\(body.count) body bytes received)"
    case .malformed(let reason): "malformed: \(reason)"
    }
  }
}

/// A change to apply to the record.
enum LoopbackChange {
  case connectionOpened
  /// `apply` fills in the numbers of the connection and of the request.
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

  /// Returns the request with this number on this connection.
  func request(_ sequence: Int, of connection: Int) -> LoopbackRequest {
    requests[connections[connection - 1].requestIndices[sequence - 1]]
  }
}
