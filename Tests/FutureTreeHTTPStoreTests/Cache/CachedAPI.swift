import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import Testing

/// A chain with a cache, a server that the test scripts, and a clock.
struct CachedAPI {
  let mock: MockLoader
  let clock: ManualClock
  let cache: HTTPCache
  let layer: CacheResponses

  init(_ limits: HTTPCache.Limits = HTTPCache.Limits()) {
    let clock = ManualClock()
    self.init(HTTPCache(limits: limits, date: clock.wallClock()), clock)
  }

  init(_ cache: HTTPCache, _ clock: ManualClock) {
    (self.cache, self.clock) = (cache, clock)
    mock = MockLoader(clock: clock)
    layer = CacheResponses(in: cache)
  }

  var chain: any HTTPLoader { layer --> mock }

  /// Loads, and returns the response if it is complete.
  @discardableResult
  func load(
    _ path: String = "/", _ fields: [(String, String)] = [], method: HTTPMethod = .get,
    caching option: RequestCaching = .standard
  ) -> HTTPResponse? {
    start(path, fields, method: method, caching: option).outcomeIfCompleted.flatMap { try? $0.get() }
  }

  func start(
    _ path: String = "/", _ fields: [(String, String)] = [], method: HTTPMethod = .get,
    caching option: RequestCaching = .standard
  ) -> Future<HTTPResponse> {
    chain.load(request(path, fields, method: method, caching: option))
  }

  func request(
    _ path: String = "/", _ fields: [(String, String)] = [], method: HTTPMethod = .get,
    caching option: RequestCaching = .standard
  ) -> HTTPRequest {
    var request = anyRequest(path)
    request.method = method
    request.caching = option
    for (name, value) in fields { try! request.addHeader(name, value) }  // The tests give valid fields.
    return request
  }

  func answer(_ fields: [(String, String)], status: Int = 200) {
    answer("", status: status, fields)
  }

  func answer(_ body: String = "", status: Int = 200, _ fields: [(String, String)] = []) {
    mock.answer(status: HTTPStatus(status), headers: received(fields), body: body)
  }

  /// Stores a response with the body `one` and an entity tag, which has been stale for 10 seconds.
  func storeStale() {
    answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
    load()
    clock.advance(by: .seconds(20))
  }

  /// The date in a number of seconds, as a field value.
  func date(_ seconds: Int = 0) -> String {
    HTTPDate(clock.wallClock().now.addingTimeInterval(Double(seconds)))!.description
  }

  var sentCount: Int { mock.requests.count }
}

extension HTTPResponse? {
  /// The status, the body and the last value of `Cache-Status` without the name of the cache.
  var summary: String {
    guard let self else { return "none" }
    let status = self.headers.values(for: "Cache-Status").last?.dropFirst("FutureTree; ".count) ?? "no status"
    let body = (try? self.body).map { String(decoding: $0, as: UTF8.self) } ?? "no body"
    return "\(self.status) \(body)|\(status)"
  }
}
