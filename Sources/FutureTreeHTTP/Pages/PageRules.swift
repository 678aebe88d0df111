/// One page of a sequence.
struct Page: Sendable {
  let response: HTTPResponse
  /// The request as it was passed to the loader.
  let request: HTTPRequest
  /// The number of the page, from 1.
  let number: Int
  let start: Start

  /// The facts about the first page that the rules need on each later page.
  struct Start: Sendable {
    /// The request as it was passed to the loader, and as the layers sent it.
    let requests: [HTTPRequest]
    /// The URL to which the request was sent before redirects. `nil` if no layer filled in the host.
    let url: HTTPURL?
  }

  /// Creates the first page.
  init(first request: HTTPRequest, answeredWith response: HTTPResponse) {
    self.request = request
    self.response = response
    number = 1
    start = Start(
      requests: [request, response.request],
      url: request.url ?? response.redirections.first?.url ?? response.request.url)
  }

  init(after page: Page, _ request: HTTPRequest, answeredWith response: HTTPResponse) {
    self.request = request
    self.response = response
    number = page.number + 1
    start = page.start
  }
}

/// The rules that decide whether a next page is loaded, and with which request. They hold no lock and send nothing.
///
/// # Invariants
/// 1. No request leads to another origin than the first request's, unless that is allowed. After a first request over
///    `https`, no request leads to `http`.
/// 2. H10 (credentials never cross an origin): a field or an option with a credential of an earlier request is sent only to
///    the origin of that request.
struct PageRules: Sendable {
  private let limit: Int?
  private let allowsOtherOrigins: Bool
  private let next: @Sendable (Page) throws -> HTTPRequest?

  init(limit: Int?, allowsOtherOrigins: Bool, next: @escaping @Sendable (Page) throws -> HTTPRequest?) {
    self.limit = limit.map { max(1, $0) }
    self.allowsOtherOrigins = allowsOtherOrigins
    self.next = next
  }

  /// Returns the request for the next page, or `nil` after the last page.
  ///
  /// - Throws: The error of the closure, or `HTTPError` with the code `tooManyPages` or `pageAtOtherOrigin`.
  func request(after page: Page) throws -> HTTPRequest? {
    guard let request = try next(page) else { return nil }
    if let limit, page.number >= limit {
      throw HTTPError(
        .tooManyPages,
        "\(page.response.request) leads to one more page than the limit of pages, \(limit). Raise `limit`, or check whether "
          + "the pages lead back to an earlier page.",
        response: page.response)
    }
    try checkOrigin(of: request, after: page)
    return try withoutForeignCredentials(request, after: page)
  }

  private func checkOrigin(of request: HTTPRequest, after page: Page) throws(HTTPError) {
    // The layers fill in the same host as for the first page.
    guard let url = request.url else { return }
    guard let start = page.start.url else {
      guard !allowsOtherOrigins else { return }
      throw refused(
        url, after: page, "whose origin cannot be compared with the first request's, which has only a path",
        "Use a path, or add a layer that fills in a ServerEnvironment.")
    }
    guard !url.hasSameOrigin(as: start) else { return }
    guard start.scheme == .http || url.scheme == .https else {
      throw refused(
        url, after: page, "which is not encrypted, unlike the first request",
        "Load that URL directly if you accept this.")
    }
    guard allowsOtherOrigins else {
      throw refused(
        url, after: page, "which is at another origin than the first request, \(start.origin)",
        "Begin with a request for that origin, or pass `allowsOtherOrigins: true` if you trust it.")
    }
  }

  private func refused(_ url: HTTPURL, after page: Page, _ fault: String, _ remedy: String) -> HTTPError {
    HTTPError(
      .pageAtOtherOrigin, "\(page.response.request) leads to the page \(url), \(fault). \(remedy)",
      response: page.response)
  }

  /// Returns the request without the credentials that it shares with an earlier request for another origin.
  private func withoutForeignCredentials(_ request: HTTPRequest, after page: Page) throws(HTTPError) -> HTTPRequest {
    let foreign = (page.start.requests + [page.request, page.response.request]).filter { earlier in
      guard let origin = earlier.url ?? page.start.url, let url = request.url ?? page.start.url else {
        return (earlier.url == nil) != (request.url == nil)
      }
      return !url.hasSameOrigin(as: origin)
    }
    guard !foreign.isEmpty else { return request }
    var request = request
    try request.removeCredentials(of: foreign)
    return request
  }
}
