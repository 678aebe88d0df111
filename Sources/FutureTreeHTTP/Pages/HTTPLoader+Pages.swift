import FutureTree

extension HTTPLoader {
  /// Returns the pages of a resource whose content comes in several responses. A closure derives each request from the
  /// response before it.
  ///
  /// ```swift
  /// let pages = api.pages(try HTTPRequest(.get, path: "posts")) { response in
  ///   let page = try JSONDecoder().decode(Page.self, from: response.body)
  ///   return try page.next.map { cursor in try HTTPRequest(.get, to: "posts", query: ["cursor": cursor]) }
  /// }
  /// for try await response in pages {
  ///   show(try JSONDecoder().decode(Page.self, from: response.body).posts)
  /// }
  /// ```
  ///
  /// Nothing is loaded before the first call of `next` of an iterator. `HTTPPages` describes the order, the
  /// errors and the cancellation of the sequence.
  ///
  /// **Other origins.** Credentials never cross an origin (scheme, host, port). By default a next request for another
  /// origin than the first request's ends the sequence with the code `pageAtOtherOrigin`. With `allowsOtherOrigins` such
  /// a request is loaded without the credentials, `Origin` and `Referer` of the requests before it. If the first request
  /// is sent over `https`, a request over `http` is always refused. A request with only a path has the origin of the first
  /// request.
  ///
  /// - Parameters:
  ///   - first: The request for the first page. Each iteration loads it again.
  ///   - lookAhead: The maximum number of pages that are loaded before the iterator asks for them. One page is loaded at a
  ///     time, because each request depends on the page before it. Defaults to 0: each page is requested when the
  ///     iterator asks for it. Values below 0 are treated as 0, values above 100 as 100.
  ///   - limit: The maximum number of pages. If there is one more page, the sequence ends with the code `tooManyPages`.
  ///     Defaults to 1,000. `nil` disables the limit. Values below 1 are treated as 1.
  ///   - allowsOtherOrigins: Whether the pages can be at several origins. Defaults to `false`.
  ///   - next: A closure that returns the request for the page after a response, or `nil` after the last page. It is
  ///     called once for each page, in order, where the page arrives or where the iterator asks for the next page. An
  ///     error that it throws ends the sequence after this page.
  /// - Returns: A sequence of the responses.
  public func pages(
    _ first: HTTPRequest, lookAhead: Int = 0, limit: Int? = 1_000, allowsOtherOrigins: Bool = false,
    next: @escaping @Sendable (HTTPResponse) throws -> HTTPRequest?
  ) -> HTTPPages {
    let rules = PageRules(limit: limit, allowsOtherOrigins: allowsOtherOrigins) { page in try next(page.response) }
    return HTTPPages(first, of: self, lookAhead: lookAhead, rules)
  }

  /// Returns the pages of a resource whose responses link to the next page with the header field `Link` and the relation
  /// type `next` (RFC 8288).
  ///
  /// ```swift
  /// // Link: <https://example.com/posts?page=2>; rel="next"
  /// for try await response in api.pages(followingLinksFrom: try HTTPRequest(.get, path: "posts")) {
  ///   show(try JSONDecoder().decode([Post].self, from: response.body))
  /// }
  /// ```
  ///
  /// Each next request is the request before it with another URL: the method, the header fields, the body and the options
  /// are kept. A page without such a link is the last page. A malformed link ends the sequence with the code `invalidLink`
  /// of `HTTPResponse.linkedURL(_:)`, so that a page is never missing without an error. Layers must pass on a response
  /// whose request has a URL; otherwise the sequence ends with the code `missingHost`.
  ///
  /// The other parameters and errors are those of `pages(_:lookAhead:limit:allowsOtherOrigins:next:)`.
  public func pages(
    followingLinksFrom first: HTTPRequest, lookAhead: Int = 0, limit: Int? = 1_000, allowsOtherOrigins: Bool = false
  ) -> HTTPPages {
    let rules = PageRules(limit: limit, allowsOtherOrigins: allowsOtherOrigins) { page in
      guard let url = try page.response.linkedURL("next") else { return nil }
      var request = page.request
      request.target = .url(url)
      return request
    }
    return HTTPPages(first, of: self, lookAhead: lookAhead, rules)
  }
}
