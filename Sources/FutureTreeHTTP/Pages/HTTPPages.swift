import FutureTree

/// A sequence of responses, each of which leads to the next one. `HTTPLoader.pages` returns it.
///
/// ```swift
/// for try await response in api.pages(followingLinksFrom: try HTTPRequest(.get, path: "posts")) {
///   show(try JSONDecoder().decode([Post].self, from: response.body))
/// }
/// ```
///
/// **Order.** The pages arrive in order, and each is loaded once. One page is loaded at a time. The sequence can be
/// iterated several times, also concurrently. Each iteration begins at the first page.
///
/// **Errors.** An error ends the iteration, after the pages before it:
///
/// - the error of a load
/// - the code `unacceptableStatus` for a page whose status is not in 200 to 299
/// - the error that the closure throws
/// - `tooManyPages` if there are more pages than the limit. A page that leads back to an earlier page is not detected in
///   another way.
/// - `pageAtOtherOrigin` if a page is at another origin and this is not allowed
/// - `invalidLink` or `missingHost` for a link that cannot be followed
///
/// **Cancellation.** An iteration is a consumer of the page in flight. If the iterating task is cancelled, `next` throws
/// `CancellationError`. An iteration also ends with `break`, with an error in the body of the loop, and when the iterator
/// is dropped. In each case its interest in the page in flight is withdrawn with a `doNotForwardIfOthersWaiting` request.
/// This cancels the page, unless it has other consumers. No further page is requested.
///
/// **Memory.** An iteration holds the pages that are loaded ahead, or the page that was read last if there are none.
public struct HTTPPages: AsyncSequence, Sendable {
  public typealias Element = HTTPResponse

  private let first: HTTPRequest
  private let loader: any HTTPLoader
  private let rules: PageRules
  fileprivate let lookAhead: Int

  init(_ first: HTTPRequest, of loader: any HTTPLoader, lookAhead: Int, _ rules: PageRules) {
    self.first = first
    self.loader = loader
    self.rules = rules
    self.lookAhead = Swift.max(0, Swift.min(lookAhead, 100))
  }

  /// Begins an iteration at the first page. The page is requested by the first call of `next`.
  public func makeAsyncIterator() -> Iterator {
    Iterator(run: PageRun(self))
  }

  /// One iteration. Its interest in the page in flight is withdrawn when it is dropped.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let run: PageRun

    /// Returns the next page as soon as it arrives, or `nil` after the last page.
    ///
    /// In a cancelled task it requests nothing.
    ///
    /// - Throws: The error of the page; `CancellationError` if the task was cancelled. The error ends the iteration.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> HTTPResponse? {
      try await run.next()
    }
  }
}

extension HTTPPages: CustomStringConvertible, CustomReflectable {
  /// The first request, without the query and the values of the headers, which may be secrets.
  public var description: String { "pages from \(first)" }

  public var customMirror: Mirror { Mirror(self, children: ["first": first], displayStyle: .struct) }
}

// MARK: - Futures of pages

extension HTTPPages {
  /// Begins to load the first page.
  fileprivate func firstPage() -> Future<Page?> {
    load(first) { response in Page(first: first, answeredWith: response) }
  }

  /// Returns the page after another, or `nil` if there is none. It is requested when the other page has arrived.
  fileprivate func page(after earlier: Future<Page?>) -> Future<Page?> {
    earlier.flatMap { [self] page in
      guard let page, let request = try rules.request(after: page) else { return .succeeded(nil) }
      return load(request) { response in Page(after: page, request, answeredWith: response) }
    }
  }

  private func load(_ request: HTTPRequest, _ page: @escaping @Sendable (HTTPResponse) -> Page) -> Future<Page?> {
    loader.load(request).validated().map { response in page(response) }.named(.page)
  }
}

extension FutureName {
  fileprivate static let page = FutureName("page")
}

/// One iteration. The futures of its pages form a chain:
///
///     first load ──► page 1 ──flatMap──► page 2 ──flatMap──► page 3
///                                        └ ahead ───────────── last ┘
///
/// # Invariants
/// 1. The future of a page derives its request when the page before it has arrived. At most one page is in flight.
/// 2. After a call of `next`, at most `lookAhead` futures are in `ahead`. Without a future a page is not requested.
/// 3. Only `last` has no consumer of its own in the chain. A request to cancel `last` therefore reaches the page in flight,
///    and the closure of the caller does not run afterwards.
private final class PageRun {
  private let pages: HTTPPages
  /// The pages that `next` has not returned, in order.
  private var ahead: [Future<Page?>] = []
  private var last: Future<Page?>?
  private var hasEnded = false

  init(_ pages: HTTPPages) {
    self.pages = pages
  }

  deinit {
    last?.cancel(.doNotForwardIfOthersWaiting, reason: .of(.abandoned, "the iteration ended early"))
  }

  nonisolated(nonsending) func next() async throws -> HTTPResponse? {
    guard !hasEnded else { return nil }
    guard !Task.isCancelled else {
      end("the iterating task was cancelled")
      throw CancellationError()
    }
    while ahead.count <= pages.lookAhead { addPage() }
    do {
      let page = try await ahead.removeFirst().value
      if page == nil { end("the iteration has ended") }
      return page?.response
    } catch {
      end(error is CancellationError ? "the iterating task was cancelled" : "the iteration has ended")
      throw error
    }
  }

  private func addPage() {
    let page = last.map { pages.page(after: $0) } ?? pages.firstPage()
    ahead.append(page)
    last = page
  }

  private func end(_ reason: CancellationReason) {
    hasEnded = true
    ahead = []
    last.take()?.cancel(.doNotForwardIfOthersWaiting, reason: reason)
  }
}
