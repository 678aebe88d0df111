#if os(Linux)
  import Foundation
  import FutureTree

  /// What happened on the wire during one exchange of a `CurlLoader`, also if it failed or was cancelled.
  ///
  /// ```swift
  /// configuration.onExchange = { facts in
  ///   metrics.record(facts.timings.firstByte, isReused: facts.timings.isConnectionReused, attempts: facts.attempts)
  /// }
  /// ```
  public struct CurlExchangeFacts: Sendable {
    /// The request.
    public let request: HTTPRequest
    /// The status of the response, or `nil` if no whole head arrived.
    public let status: HTTPStatus?
    /// The times and the connection.
    public let timings: HTTPTimings
    /// When the exchange ended, measured like the `timings`.
    public let ended: Duration
    /// How often the request was sent. It is above 1 if a reused connection was closed before a response.
    public let attempts: Int

    init(
      _ request: HTTPRequest, _ handle: CurlHandle, _ head: ResponseHead, _ timings: HTTPTimings, called: Duration,
      attempts: Int
    ) {
      self.request = request
      self.timings = timings
      ended = SystemClock().now - called
      self.attempts = max(attempts, timings.sent == nil ? 0 : 1)  // Before 7.80, libcurl does not report each sending.
      status = head.hasEnded ? head.status : nil
    }
  }

  extension HTTPTimings {
    /// Reads the timings of a handle until now.
    ///
    /// - Parameters:
    ///   - queued: The time before libcurl began.
    ///   - wasSent: Whether libcurl reported that it sent the request.
    init(_ handle: CurlHandle, queued: Duration, wasSent: Bool) {
      typealias Information = CurlHandle.Information
      func time(_ information: Int32) -> Duration? {
        let time = handle.microseconds(information)
        return time > .zero ? queued + time : nil
      }
      self.init()
      self.queued = queued
      sent = time(Information.beforeSending)
      let isReused = handle.number(Information.connectionCount) == 0 && (wasSent || sent != nil)
      isConnectionReused = isReused
      connected = isReused ? nil : time(Information.connect)
      secured = isReused ? nil : time(Information.secured)
      firstByte = time(Information.firstByte)
      protocolVersion =
        switch handle.number(Information.httpVersion) {
        case 1: "1.0"
        case 2: "1.1"
        case 3: "2"
        case 30: "3"
        default: nil
        }
      peerAddress = handle.text(Information.peer).flatMap { $0.isEmpty ? nil : $0 }
      peerPort = peerAddress.map { _ in UInt16(truncatingIfNeeded: handle.number(Information.peerPort)) }
    }
  }

  extension CurlExchangeFacts: CustomStringConvertible, CustomReflectable {
    /// The request and the facts.
    public var description: String {
      var parts = ["\(request): \(status.map { "\($0)" } ?? "no response") after \(ended.rounded)", "\(timings)"]
      if attempts > 1 { parts.append("sent \(attempts) times") }
      return parts.joined(separator: ", ")
    }

    public var customMirror: Mirror { Mirror(self, children: ["facts": description], displayStyle: .struct) }
  }
#endif
