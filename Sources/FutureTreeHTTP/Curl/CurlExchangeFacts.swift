#if os(Linux)
  import Foundation

  /// What happened on the wire during one exchange of a `CurlLoader`.
  ///
  /// ```swift
  /// configuration.onExchange = { facts in
  ///   metrics.record(facts.firstByte, isReused: facts.isConnectionReused, peer: facts.peer)
  /// }
  /// ```
  ///
  /// Times are measured from the moment at which libcurl began the exchange. They exclude the lookup of names by the loader, and the
  /// time in the queue for a connection is part of each. A step that was not needed has the time of the step before it, or `nil`.
  public struct CurlExchangeFacts: Sendable {
    /// The request.
    public let request: HTTPRequest
    /// The status of the response, or `nil` if no whole head arrived.
    public let status: HTTPStatus?
    /// When the connection was open. `nil` for a reused connection.
    public let connected: Duration?
    /// When the connection was secured. `nil` for a reused connection, and without TLS.
    public let secured: Duration?
    /// When the request began to be sent, or `nil` if it was not.
    public let sent: Duration?
    /// When the first byte of the response arrived, or `nil` if none did.
    public let firstByte: Duration?
    /// When the exchange ended.
    public let ended: Duration
    /// Whether the request was sent over a connection that was open before.
    public let isConnectionReused: Bool
    /// The version of the protocol, such as `1.1` and `2`, or `nil` without a response.
    public let protocolVersion: String?
    /// The address of the peer, which can be a proxy, or `nil` without a connection.
    public let peer: String?
    /// How often the request was sent. It is above 1 if a reused connection was closed before a response.
    public let attempts: Int
    /// The fields after the body (RFC 9112, section 7.1.2).
    public let trailers: [(name: String, value: String)]
    /// The informational responses before the response, such as 103 (RFC 8297).
    public let informational: [(status: HTTPStatus, fields: [(name: String, value: String)])]

    init(_ request: HTTPRequest, _ handle: CurlHandle, _ head: ResponseHead, attempts: Int) {
      typealias Information = CurlHandle.Information
      func time(_ information: Int32) -> Duration? {
        let time = handle.microseconds(information)
        return time > .zero ? time : nil
      }
      self.request = request
      sent = time(Information.beforeSending)
      self.attempts = max(attempts, sent == nil ? 0 : 1)  // Before 7.80, libcurl does not report each sending.
      isConnectionReused = handle.number(Information.connectionCount) == 0 && self.attempts > 0
      connected = isConnectionReused ? nil : time(Information.connect)
      secured = isConnectionReused ? nil : time(Information.secured)
      firstByte = time(Information.firstByte)
      ended = handle.microseconds(Information.total)
      status = head.hasEnded ? head.status : nil
      protocolVersion =
        switch handle.number(Information.httpVersion) {
        case 1: "1.0"
        case 2: "1.1"
        case 3: "2"
        case 30: "3"
        default: nil
        }
      peer = handle.text(Information.peer).flatMap { $0.isEmpty ? nil : $0 }
      trailers = head.trailers
      informational = head.interim
    }
  }

  extension CurlExchangeFacts: CustomStringConvertible, CustomReflectable {
    /// The request and the facts, without the fields, which can be secret.
    public var description: String {
      var parts = ["\(request): \(status.map { "\($0)" } ?? "no response") after \(ended.rounded)"]
      if let protocolVersion { parts.append("HTTP/\(protocolVersion)") }
      if let peer { parts.append("\(isConnectionReused ? "reused connection" : "new connection") to \(peer)") }
      if attempts > 1 { parts.append("sent \(attempts) times") }
      return parts.joined(separator: ", ")
    }

    public var customMirror: Mirror { Mirror(self, children: ["facts": description], displayStyle: .struct) }
  }
#endif
