import Foundation
import FutureTreeHTTP

/// A stored response (RFC 9111, section 3). Times are in seconds since 1970.
struct CacheEntry: Sendable {
  /// A field that `Vary` names, and its elements in the request that was answered (section 4.1).
  struct Selector: Sendable, Equatable {
    let name: String
    let elements: [String]

    init(_ name: String, _ request: HTTPRequest) {
      self.name = name
      elements = request.headers.elements(of: name)
    }

    static func == (first: Selector, second: Selector) -> Bool {
      first.name == second.name && first.elements.elementsEqual(second.elements, by: FieldSyntax.haveSameBytes)
    }
  }

  /// The times of an exchange.
  struct Times: Sendable {
    /// When the request was sent.
    let asked: Double
    /// When the head of the response arrived.
    let answered: Double
  }

  let key: CacheKey
  let selectors: [Selector]
  let status: HTTPStatus
  let headers: HTTPHeaders
  let body: Data
  let marks: HTTPResponse.Marks
  let control: CacheControl
  /// The date of the response, by the clock of the server.
  let date: Double
  /// How long the response is fresh (section 4.2.1).
  let lifetime: Double
  let times: Times
  /// The age when the head of the response arrived (section 4.2.3).
  private let initialAge: Double

  /// - Parameters:
  ///   - request: The request that was answered.
  ///   - headers: The fields, which can contain some that are not stored.
  ///   - control: The directives of the fields.
  init(
    _ request: HTTPRequest, _ key: CacheKey, status: HTTPStatus, headers: HTTPHeaders, _ control: CacheControl,
    body: Data,
    marks: HTTPResponse.Marks, _ times: Times
  ) {
    self.key = key
    self.status = status
    self.body = body
    self.marks = marks
    var headers = headers
    CacheFields.removeUnstored(from: &headers)
    let now = Date(timeIntervalSince1970: times.answered)
    let sentDate = headers["Date"].flatMap { HTTPDate($0, now: now) }
    // RFC 9110, section 6.6.1: a response without a date gets that of its arrival.
    if sentDate == nil, let now = HTTPDate(now) { try? headers.set("Date", now.description) }
    self.headers = headers
    self.control = control
    selectors = CacheFields.varying(headers).map { Selector($0, request) }
    self.times = times
    date = sentDate.map { Double($0.secondsSince1970) } ?? times.answered
    lifetime = CacheEntry.lifetime(headers, control, status, date: date, now)
    // Section 5.1: the first value counts, and an invalid one is ignored.
    let age = headers.elements(of: "Age").first.flatMap(CacheControl.deltaSeconds) ?? 0
    initialAge = max(0, times.answered - date, age + max(0, times.answered - times.asked))
  }

  /// The number of bytes that an entry is counted with, in addition to its contents.
  static let baseSize = 512

  /// The number of bytes that the entry is counted with.
  var size: Int {
    CacheEntry.baseSize + key.url.utf8.count + body.count
      + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
  }

  /// Whether the response depends on fields of the request.
  var varies: Bool { !selectors.isEmpty }

  /// Returns whether the request has the same selecting fields.
  func isSelected(by request: HTTPRequest) -> Bool {
    selectors.allSatisfy { $0 == Selector($0.name, request) }
  }

  /// Returns the age in seconds. A clock that moved back makes no response younger than it was on arrival.
  func age(at now: Double) -> Double { initialAge + max(0, now - times.answered) }

  /// Returns for how long the response remains fresh. Negative if it is stale.
  func freshness(at now: Double) -> Double { lifetime - age(at: now) }

  private static func lifetime(
    _ headers: HTTPHeaders, _ control: CacheControl, _ status: HTTPStatus, date: Double, _ now: Date
  ) -> Double {
    if let maximum = control.seconds("max-age") { return maximum }
    let expires = headers.values(for: "Expires")
    if !expires.isEmpty {
      // Section 5.3: an invalid date is in the past.
      guard expires.count == 1, let end = HTTPDate(expires[0], now: now) else { return 0 }
      return max(0, Double(end.secondsSince1970) - date)
    }
    // Section 4.2.2: a tenth of the time since the last change, at most a day.
    guard CacheRules.isHeuristic(status) || control.contains("public"),
      let changed = headers["Last-Modified"].flatMap({ HTTPDate($0, now: now) })
    else { return 0 }
    return min(86_400, max(0, date - Double(changed.secondsSince1970)) / 10)
  }
}

// MARK: - Validation

extension CacheEntry {
  private var entityTag: String? { headers["ETag"] }

  /// Returns a request that the server can answer with 304 (section 4.3.1). Returns `nil` if there is no validator.
  func validating(_ request: HTTPRequest) -> HTTPRequest? {
    guard entityTag != nil || headers.contains("Last-Modified") else { return nil }
    var request = request
    do throws(HTTPError) {
      if let entityTag { try request.setHeader("If-None-Match", received: entityTag) }
      if let changed = headers["Last-Modified"] { try request.setHeader("If-Modified-Since", received: changed) }
    } catch {
      return nil
    }
    return request
  }

  /// Returns the request of a response to a validation, without the conditions that `validating(_:)` added.
  static func request(_ last: HTTPRequest, without validation: HTTPRequest, of request: HTTPRequest) -> HTTPRequest {
    if last.sharesStorage(with: validation) { return request }
    var last = last
    for name in ["If-None-Match", "If-Modified-Since"] { last.removeHeader(name) }
    return last
  }

  /// Returns the entry with the fields of a 304 (sections 3.2 and 4.3.4). Returns `nil` if the 304 is about another response: a
  /// redirect led to it, or its entity tag is strong and a different one.
  func validated(by response: HTTPResponse, to request: HTTPRequest, _ times: Times) -> CacheEntry? {
    guard response.request.url == request.url else { return nil }
    if let new = response.headers["ETag"], !new.hasPrefix("W/"), !FieldSyntax.haveSameBytes(new, entityTag ?? "") {
      return nil
    }
    var headers = headers
    for name in Set(response.headers.map { $0.name.lowercased() }) where !CacheFields.isOfBody(name) {
      headers.remove(name)
      headers.add(contentsOf: response.headers.filter { $0.isNamed(name) })
    }
    // The date and the age are those of the 304. Without a date, its arrival counts.
    for name in ["Date", "Age"] where !response.headers.contains(name) { headers.remove(name) }
    return CacheEntry(
      request, key, status: status, headers: headers, CacheControl(headers), body: body, marks: marks, times)
  }
}

/// The primary key of a stored response (RFC 9111, section 2), and the user that it belongs to.
struct CacheKey: Sendable, Hashable {
  /// The URL without an explicit default port.
  let url: String
  /// The credentials with which the response was requested.
  let credentials: [String]

  init(_ request: HTTPRequest, _ url: HTTPURL) {
    self.url = CacheKey.text(of: url)
    credentials = request.credentials
  }

  static func text(of url: HTTPURL) -> String {
    guard url.explicitPort == url.scheme.defaultPort else { return url.absoluteString }
    return HTTPURL(scheme: url.scheme, host: url.host, explicitPort: nil, path: url.path, query: url.query)
      .absoluteString
  }
}
