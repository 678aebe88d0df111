#if canImport(Darwin)
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  extension HTTPTimings {
    /// Reads the metrics of one exchange. Times begin with its fetch.
    init(_ metrics: URLSessionTaskTransactionMetrics) {
      self.init()
      let start = metrics.fetchStartDate
      func time(_ date: Date?) -> Duration? {
        guard let start, let date else { return nil }
        return .seconds(max(0, date.timeIntervalSince(start)))
      }
      if !metrics.isReusedConnection {
        connected = time(metrics.connectEndDate)
        secured = time(metrics.secureConnectionEndDate)
      }
      sent = time(metrics.requestStartDate)
      firstByte = time(metrics.responseStartDate)
      isConnectionReused = metrics.isReusedConnection
      // The names are those of ALPN (RFC 7301).
      protocolVersion = metrics.networkProtocolName.map { name in
        name.hasPrefix("http/") ? String(name.dropFirst(5)) : String(name.drop { $0 == "h" })
      }
      peerAddress = metrics.remoteAddress
      peerPort = metrics.remotePort.flatMap { UInt16("\($0)") }
    }
  }
#endif
