import FutureTree

/// Attributes of OpenTelemetry's semantic conventions for HTTP clients.
extension HTTPRequest {
  func measured(_ redaction: Redaction) -> [String: HTTPMeasurement.Value] {
    var attributes: [String: HTTPMeasurement.Value] = [:]
    if HTTPRequest.measuredMethods.contains(method.name) {
      attributes["http.request.method"] = .string(method.name)
    } else {
      // An unknown method must not create a time series of its own.
      attributes["http.request.method"] = "_OTHER"
      attributes["http.request.method_original"] = .string(method.name)
    }
    if let url {
      attributes["url.full"] = .string(redaction.target(of: self))
      attributes["url.scheme"] = .string(url.scheme.rawValue)
      attributes["server.address"] = .string(url.host.trimming("[", "]"))
      attributes["server.port"] = .int(Int(url.port))
    }
    let attempt = self[option: RequestAttempt.self]
    if attempt > 1 { attributes["http.request.resend_count"] = .int(attempt - 1) }
    if !body.isEmpty, let size = body.contentLength { attributes["http.request.body.size"] = .int(size) }
    return attributes
  }

  /// The known methods (RFC 9110, section 9, and RFC 5789). Methods compare case-sensitively.
  private static let measuredMethods: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}

extension Outcome<HTTPResponse> {
  /// The attributes that are added when the load ends.
  func measured(with transfer: Outcome<Void>) -> [String: HTTPMeasurement.Value] {
    switch self {
    case .success(let response):
      var attributes = response.measured
      switch transfer {
      case .success: break
      case .failure(let error): attributes["error.type"] = .string(LogText.name(of: error))
      case .cancelled: attributes["error.type"] = "cancelled"
      }
      return attributes
    case .cancelled: return ["error.type": "cancelled"]
    case .failure(let error):
      var attributes = (error as? HTTPError)?.response?.measured ?? [:]
      // An error status describes the failure better than the code `unacceptableStatus`.
      if (error as? HTTPError)?.code != .unacceptableStatus || attributes["error.type"] == nil {
        attributes["error.type"] = .string(LogText.name(of: error))
      }
      return attributes
    }
  }
}

extension HTTPResponse {
  fileprivate var measured: [String: HTTPMeasurement.Value] {
    var attributes: [String: HTTPMeasurement.Value] = [
      "http.response.status_code": .int(status.code), "http.response.body.size": .int(bodySize),
    ]
    if status.code >= 400 { attributes["error.type"] = .string("\(status.code)") }
    return attributes
  }
}

extension String {
  /// Removes the brackets that an address has in a URL.
  fileprivate func trimming(_ prefix: Character, _ suffix: Character) -> String {
    first == prefix && last == suffix ? String(dropFirst().dropLast()) : self
  }
}
