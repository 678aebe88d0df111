import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import Testing

// More code of the article *Cookbook*, word for word. `HTTPGuideTests` compares the two.

// guide state
extension FeedAPI {
  /// An API that keeps the cookies of the server, and loads what it has stored only when that is stale.
  static func remembering(
    server: ServerEnvironment, cookies: CookieJar = CookieJar(), cache: HTTPCache = HTTPCache(),
    transport: any HTTPLoader = SystemLoader()
  ) -> FeedAPI {
    let state = Redirect() --> CacheResponses(in: cache) --> StoreCookies(in: cookies) --> transport
    return FeedAPI(server: server, transport: state)
  }
}
// end

// guide stateTest
extension FeedTests {
  @Test("A stored response is used until it is stale, and a reset removes it and the cookies")
  func remembers() async throws {
    let clock = ManualClock()
    let headers = try HTTPHeaders(["Cache-Control": "max-age=60", "Set-Cookie": "session=1"])
    let (cookies, cache) = (CookieJar(date: clock.wallClock()), HTTPCache(date: clock.wallClock()))
    let api = FeedAPI.remembering(server: server, cookies: cookies, cache: cache, transport: mock)
    mock.onOthers(.respond(headers: headers, body: Data(#"{"id": 1, "title": "Notes"}"#.utf8)))

    let titles = [try await api.post(1).value?.title, try await api.post(1).value?.title]
    #expect(titles == ["Notes", "Notes"] && mock.requests.count == 1)
    clock.advance(by: .seconds(60))
    _ = try await api.post(1).value
    #expect(mock.requests.map { $0.headers["Cookie"] } == [nil, "session=1"])

    try await api.http.reset().value
    #expect(cache.count == 0 && cookies.cookies.isEmpty)
  }
}
// end
