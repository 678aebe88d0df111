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

// guide parts
extension FeedAPI {
  /// Downloads a large film through four connections.
  func downloadLargeFilm(_ id: Int, to file: URL) -> Future<HTTPResponse> {
    Future.attempt {
      http.download(try HTTPRequest(.get, path: "/films/\(id)"), to: file, inParts: 4)
    }
  }
}
// end

// guide partsTest
extension FeedTests {
  @Test("A film is downloaded in four parts, which become one file")
  func parts() async throws {
    let film = Data((0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    let answer = MockAnswer.make { request in
      let range = request.headers["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } ?? []
      let (first, last) = (range.first ?? 0, range.count == 2 ? range[1] : film.count - 1)
      let headers = try HTTPHeaders(["Content-Range": "bytes \(first)-\(last)/\(film.count)", "ETag": "\"v1\""])
      return HTTPResponse(to: request, status: HTTPStatus(206), headers: headers, body: film[first...last])
    }
    mock.on("/films/7", answer.forever())
    let file = URL.temporaryDirectory.appending(path: "\(UUID()).mp4")

    #expect(try await api.downloadLargeFilm(7, to: file).value.bodySize == film.count)
    #expect(mock.requests.count == 4)
    #expect(try Data(contentsOf: file) == film)
    try FileManager.default.removeItem(at: file)
  }
}
// end
