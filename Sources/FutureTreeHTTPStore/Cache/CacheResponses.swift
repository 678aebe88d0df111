import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that answers requests from a private cache, and stores responses in it (RFC 9111).
///
/// ```swift
/// let cache = HTTPCache()
/// let api = ResetGuard() --> Autocancel() --> Redirect() --> CacheResponses(in: cache) --> SystemLoader()
/// let feed = api.get("https://example.com/feed")  // Sent again only when the stored response is stale.
/// ```
///
/// `GET` and `HEAD` requests are answered from the cache while the stored response is fresh. A stale response is validated: the
/// server confirms it with the status 304, or sends a new one. `stale-while-revalidate` and `stale-if-error` are supported. Each
/// response has the field `Cache-Status` (RFC 9211), and one from the cache has its `Age`.
///
/// The option `RequestCaching` and the header `Cache-Control` of a request select other behavior. The following requests are
/// sent as they are, and their responses are not stored: those with a body, with `Range`, with a condition such as
/// `If-None-Match`, and those whose body is delivered into a file. Other methods are sent, too. If they succeed, the stored
/// responses for their URL are removed.
///
/// **Failures.** An error response can be stored, as any other. A retry, whose option `RequestAttempt` is not 1, is always sent.
/// If only a stored response is acceptable and there is none, the load fails with the code `notCached`. RFC 9111 suggests a
/// response with the status 504, but `Retry` would repeat the request.
///
/// **Sharing.** Identical requests in flight share one load, as in `Coalesce`.
///
/// **Streams.** The body of a stream is stored while it is read. The response is in the cache when its body is whole. A response
/// from the cache is delivered in memory, and can be read like a stream.
///
/// **Files.** If the cache has a directory, a response that is only in a file is read on the executor of the cache.
///
/// **Users.** A response to one user never answers another. What separates them is what a redirect removes: the well-known fields
/// of credentials, such as `Authorization`, `X-Api-Key` and `Cookie`, those that the request lists in `SensitiveHeaders`, and
/// the credentials of the options `basicCredentials` and `bearerToken`. Fields that later layers add are not known to this layer.
///
/// **Order.** Put the layer after those that add credentials, and after `Redirect`: each hop has its own lifetime. A response
/// that was sent for another URL is not stored. `StoreCookies` before the layer ignores the cookies of responses from the cache.
/// A request with a changed cookie is then loaded again. Put `StoreCookies` after the layer if the jar belongs to one user, and
/// if the server marks responses that depend on cookies with `Vary: Cookie`, `no-cache` or `no-store`.
///
/// **Cancellation.** The layer holds no requests, except while it reads a file. A load that is cancelled then is not sent. Each
/// caller of a shared load can cancel without the others. Nothing is stored from a response that arrives after a cancellation
/// request, or from a body that is not whole.
///
/// **Reset.** Validations that run in the background are cancelled, and the reset waits for them. Then all responses are removed,
/// and the reset waits for their files. Loads from before store nothing, and no later request joins them.
///
/// **In two chains.** A reset of either chain removes the responses of both.
public final class CacheResponses: HTTPLayer {
  private let cache: HTTPCache
  private let flights = Coalesce()
  /// The validations that no caller waits for.
  private let refreshes = LiveLoads()

  /// Creates the layer.
  ///
  /// - Parameter cache: The responses.
  public init(in cache: HTTPCache) {
    self.cache = cache
  }

  /// Answers the request from the cache, or loads it.
  ///
  /// - Returns: A future of a stored response, or with the outcome of `next`. It fails with the code `missingHost` if the request
  ///   has only a path, and with the code `notCached` if only a stored response is acceptable and there is none.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request.caching != .off else { return next.load(request) }
    let url: HTTPURL
    do throws(HTTPError) { url = try request.requireURL() } catch {
      return .failed(error.naming(request)).named(.cacheResponses)
    }
    guard [.get, .head].contains(request.method) else { return change(request, url, next).named(.cacheResponses) }
    guard request.body.isEmpty, request.delivery.file == nil,
      !CacheResponses.conditions.contains(where: request.headers.contains)
    else { return pass(request, next, .forwarded(.bypass)).named(.cacheResponses) }

    let search = CacheSearch(request, CacheKey(request, url), in: cache)
    guard search.entry == nil, let reading = cache.read(search.key, for: request) else {
      return answer(search, next).named(.cacheResponses)
    }
    return reading.flatMap { [self] entry in answer(search.continued(with: entry, in: cache), next) }
      .named(.cacheResponses)
  }

  /// Cancels the validations in the background. A later part may have to end them, so they are awaited in the wipe.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    _ = refreshes.drain(notes)
    return flights.drain(notes)
  }

  /// Removes all responses, and awaits the validations in the background.
  public func wipe(_ notes: ResetNotes) -> Future<Void> { .resets([refreshes.drain(), cache.removeAll(notes)]) }

  /// The number of loads and validations in flight.
  package var flightCount: Int { flights.flightCount + refreshes.count }

  /// The fields with which a request asks for a part of a response, or for none.
  private static let conditions = [
    "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
  ]
}

extension CacheResponses {
  private func answer(_ search: CacheSearch, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    let (request, demand) = (search.request, search.demand)
    var reason = search.isOther ? CacheStatus.Reason.varyMiss : .uriMiss
    if let entry = search.entry {
      switch CacheRules.decide(entry, demand, at: search.now) {
      case .use:
        cache.count { $0.hits += 1 }
        return .succeeded(entry.answer(request, .hit(entry.freshness(at: search.now)), at: search.now))
      case .useAndRefresh:
        cache.count { $0.hits += 1 }
        if !demand.isOnlyIfCached { refresh(search, next) }
        return .succeeded(entry.answer(request, .hit(entry.freshness(at: search.now)), at: search.now))
      case .validate: reason = entry.freshness(at: search.now) > 0 ? .request : .stale
      }
    }
    guard !demand.isOnlyIfCached else {
      return .failed(
        HTTPError(
          .notCached,
          "The cache has no usable response, and the request must not be sent. Load without `only-if-cached` and "
            + "`RequestCaching.onlyCached`."
        ).naming(request))
    }
    guard request.method == .get else { return pass(request, next, .forwarded(reason)) }
    return share(search, next, reason)
  }

  /// Joins an identical request in flight, or sends the request.
  private func share(_ search: CacheSearch, _ next: any HTTPLoader, _ reason: CacheStatus.Reason) -> Future<
    HTTPResponse
  > {
    var isFirst = false
    let future = flights.share(search.request, before: next) { shared in
      isFirst = true
      return fetch(shared, search, next, reason).named(.storing)
    }
    guard !isFirst else { return future }
    cache.count { $0.shared += 1 }
    return future.map { $0.markingShared() }
  }

  private func fetch(
    _ request: HTTPRequest, _ search: CacheSearch, _ next: any HTTPLoader, _ reason: CacheStatus.Reason
  ) -> Future<HTTPResponse> {
    let validation = search.entry?.validating(request)
    cache.count { counts in
      if validation == nil { counts.misses += 1 } else { counts.validations += 1 }
    }
    return next.load(validation ?? request).completed { [self] outcome, future in
      let times = CacheEntry.Times(asked: search.now, answered: cache.now)
      let isWanted = future.cancelRequest == nil
      switch outcome {
      case .cancelled: return Completion(outcome)
      case .failure:
        guard let entry = search.entry, CacheRules.canReplaceError(entry, search.demand, at: times.answered) else {
          return Completion(outcome)
        }
        return .success(entry.answer(request, .forwarded(reason, detail: "stale-if-error"), at: times.answered))
      case .success(let response):
        let status = CacheStatus.forwarded(reason, response.status)
        if validation != nil, response.status == .notModified, let entry = search.entry {
          guard let new = entry.validated(by: response, to: request, times) else {
            guard isWanted else { return .cancelled(future.cancelRequest!.reason) }
            return .completeUsing(fetch(request, search.withoutEntry, next, reason))
          }
          if isWanted, CacheRules.canStore(new.status, new.headers, new.control, search.demand) {
            cache.store(new, for: request, generation: search.generation)
          }
          // The cookies of a 304 are new.
          let marks: HTTPResponse.Marks = response.headers.contains("Set-Cookie") ? [] : .isCached
          return .success(new.answer(request, status, marks, at: times.answered))
        }
        if CacheRules.isServerFault(response.status), let entry = search.entry,
          CacheRules.canReplaceError(entry, search.demand, at: times.answered)
        {
          let status = CacheStatus.forwarded(reason, response.status, detail: "stale-if-error")
          return .success(entry.answer(request, status, at: times.answered))
        }
        let answer =
          validation.map { validation in
            response.answering(CacheEntry.request(response.request, without: validation, of: request))
          } ?? response
        let isStored = isWanted && store(answer, search, times)
        return .success(answer.adding(isStored ? status.stored : status))
      }
    }
  }

  /// Validates a response of which a caller already has a copy.
  private func refresh(_ search: CacheSearch, _ next: any HTTPLoader) {
    var search = search
    search.request.progress = nil
    search.request.deadline = nil
    search.request.delivery = ResponseDelivery.defaultValue
    _ = refreshes.track(
      flights.share(search.request, before: next) { [search] shared in
        fetch(shared, search, next, .stale).named(.storing)
      })
  }

  /// Stores a response, or begins to store its stream.
  ///
  /// - Returns: Whether the response is stored, or will be if its body is whole.
  private func store(_ response: HTTPResponse, _ search: CacheSearch, _ times: CacheEntry.Times) -> Bool {
    let (request, cache, control) = (search.request, cache, CacheControl(response.headers))
    // A layer below may have followed a redirect.
    guard response.request.url == request.url,
      CacheRules.canStore(response.status, response.headers, control, search.demand)
    else {
      return false
    }
    let makeEntry = {
      @Sendable [status = response.status, headers = response.headers, marks = response.marks] (body: Data) in
      CacheEntry(request, search.key, status: status, headers: headers, control, body: body, marks: marks, times)
    }
    switch response.content {
    case .data(let body): return cache.store(makeEntry(body), for: request, generation: search.generation)
    case .file: return false
    case .stream(let stream):
      guard let copy = stream.copy(limit: cache.limits.perEntry) else { return false }
      stream.transfer.observe { outcome in
        guard case .success = outcome, let body = copy.body else { return }
        cache.store(makeEntry(body), for: request, generation: search.generation)
      }
      return true
    }
  }

  /// Sends a request that can change the resource. If it succeeds, removes the stored responses (section 4.4).
  private func change(_ request: HTTPRequest, _ url: HTTPURL, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    next.load(request).map { [cache] response in
      if !request.method.isSafe, (200..<400).contains(response.status.code) {
        let others = ["Location", "Content-Location"].compactMap { response.headers[$0] }
          .compactMap { try? url.resolving(received: $0) }.filter { $0.origin == url.origin }
        for url in [url] + others { cache.remove(url) }
      }
      return response.adding(.forwarded(.method, response.status))
    }
  }

  /// Sends a request without the cache.
  private func pass(_ request: HTTPRequest, _ next: any HTTPLoader, _ status: CacheStatus) -> Future<HTTPResponse> {
    next.load(request).map { response in response.adding(status.answered(response.status)) }
  }
}

extension CacheEntry {
  /// Returns the response to a request.
  func answer(
    _ request: HTTPRequest, _ status: CacheStatus, _ added: HTTPResponse.Marks = .isCached, at now: Double
  ) -> HTTPResponse {
    var headers = headers
    headers.remove("Age")
    // Digits are a valid value.
    try? headers.add("Age", String(Int(min(age(at: now), 2_147_483_648))))
    let body = request.method == .head ? Data() : body
    return HTTPResponse(
      to: request, status: self.status, headers: headers, content: .data(body), marks: marks.union(added)
    ).adding(status)
  }
}

extension FutureName {
  fileprivate static let cacheResponses = FutureName("CacheResponses")
  fileprivate static let storing = FutureName("stored load")
}
