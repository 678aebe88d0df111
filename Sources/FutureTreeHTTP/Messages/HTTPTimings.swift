/// The times and the connection of the exchange that a response arrived in.
///
/// ```swift
/// let response = try await api.load(request).value
/// if let timings = response.timings, let first = timings.firstByte {
///   print("the first byte after \(first), of it \(timings.queued ?? .zero) in the queue")
/// }
/// ```
///
/// Times are measured from the call of the transport to the end of a step. A step that was not needed, or that the transport cannot
/// observe, is `nil`. Layers above the transport add time of their own: `RequestMetrics` measures the whole load.
///
/// `CurlLoader` measures all of them. `AsyncHTTPClientLoader` does not measure the queue and a new connection. `URLSessionLoader` has the
/// timings of the platform on Apple platforms, without the queue, for all responses but streams.
public struct HTTPTimings: Sendable, Hashable {
  /// When the request left the queue of the transport, after the lookup of its host.
  public var queued: Duration?
  /// When the connection was open. `nil` for a reused connection.
  public var connected: Duration?
  /// When the connection was secured. `nil` for a reused connection, and without TLS.
  public var secured: Duration?
  /// When the request began to be sent.
  public var sent: Duration?
  /// When the first byte of the response arrived.
  public var firstByte: Duration?
  /// Whether the request was sent over a connection that was open before.
  public var isConnectionReused: Bool?
  /// The version of the protocol, such as `1.1` and `2`.
  public var protocolVersion: String?
  /// The address of the peer, which can be a proxy.
  public var peerAddress: String?
  /// The port of the peer.
  public var peerPort: UInt16?

  /// Creates timings without a value, for a transport.
  public init() {}
}

extension HTTPTimings: CustomStringConvertible {
  /// The protocol, the connection and the steps, such as
  /// `HTTP/2, new connection to 192.0.2.1:443, connected 20 ms, secured 50 ms, sent 50 ms, first byte 90 ms`.
  public var description: String {
    var parts = protocolVersion.map { ["HTTP/\($0)"] } ?? []
    if let peerAddress {
      let port = peerPort.map { ":\($0)" } ?? ""
      parts.append("\(isConnectionReused == true ? "reused" : "new") connection to \(peerAddress)\(port)")
    }
    let steps = [
      ("queued", queued), ("connected", connected), ("secured", secured), ("sent", sent), ("first byte", firstByte),
    ]
    for (name, time) in steps { if let time { parts.append("\(name) \(time.rounded)") } }
    return parts.joined(separator: ", ")
  }
}
