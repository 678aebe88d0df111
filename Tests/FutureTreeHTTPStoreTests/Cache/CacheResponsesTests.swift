import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: CacheResponses") struct CacheResponsesTests {
  let api = CachedAPI()
  static let fresh = try! HTTPHeaders([("Cache-Control", "max-age=60")])
  private static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .forceImmediately,
  ]

  @Test(
    "A response to one user never answers another, whatever field has the credential",
    arguments: ["Authorization", "X-Api-Key", "Cookie", "x-auth-token"])
  func users(field: String) {
    for user in ["a", "b"] {
      api.answer(user, [("Cache-Control", "max-age=60")])
      api.load("/", [(field, user)])
    }

    expectEqual(api.load("/", [(field.uppercased(), "a")]).summary, "200 a|hit; ttl=60")
    expectEqual(api.load("/", [(field, "b")]).summary, "200 b|hit; ttl=60")
    #expect(api.load("/", caching: .onlyCached) == nil)
    #expect(api.load("/", [(field, "c")], caching: .onlyCached) == nil)
    expectEqual(api.load("/", [("X-Other", "a"), (field, "a")]).summary, "200 a|hit; ttl=60")
  }

  /// A credential of a request that is not in a well-known field.
  struct Credential: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let add: @Sendable (_ user: String, inout HTTPRequest) throws -> Void
  }

  private static let credentials = [
    Credential(testDescription: "a listed field") { user, request in
      try request.setHeader("X-Session", user)
      request.sensitiveHeaders.insert("x-session")
    },
    Credential(testDescription: "the token of the request") { $1.bearerToken = try BearerToken($0) },
    Credential(testDescription: "the credentials of the request") {
      $1.basicCredentials = try BasicCredentials(userName: $0, password: "p")
    },
  ]

  @Test("A listed field, and the credentials of the request itself, separate users as well", arguments: credentials)
  func users(credential: Credential) throws {
    func load(_ user: String) throws -> String {
      var request = anyRequest()
      try credential.add(user, &request)
      api.answer(user, [("Cache-Control", "max-age=60")])
      return api.chain.load(request).outcomeIfCompleted.flatMap { try? $0.get() }.summary
    }

    try expectEqual(["a", "b", "a"].map(load).map { $0.prefix(5) }, ["200 a", "200 b", "200 a"])
    expectEqual(api.sentCount, 2)
    expectEqual(api.cache.count, 2)
  }

  @Test("A response from the cache has the request of its caller, and one after a redirect the last request")
  func requests() throws {
    api.answer(status: 302, [("Location", "/dir/b")])
    api.answer("b", [("Cache-Control", "max-age=60")])
    let chain = Redirect() --> api.layer --> api.mock

    let answers = try (0..<2).map { number in
      if number == 1 { api.answer(status: 302, [("Location", "/dir/b")]) }
      return try #require(chain.load(anyRequest("/a")).outcomeIfCompleted).get()
    }

    expectEqual(
      answers.map { Optional($0).summary }, ["200 b|fwd=uri-miss; fwd-status=200; stored", "200 b|hit; ttl=60"])
    expectEqual(answers.map { $0.request.url?.path }, ["/dir/b", "/dir/b"])
    expectEqual(answers.map(\.redirections.count), [1, 1])
  }

  @Test("A validation that a later layer redirects stores nothing, and its response has the last request")
  func redirectedValidation() throws {
    let chain = api.layer --> Redirect() --> api.mock
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
    _ = chain.load(anyRequest("/a"))
    api.clock.advance(by: .seconds(20))
    api.answer(status: 302, [("Location", "/b")])
    api.answer("other", [("Cache-Control", "max-age=60")])

    let answer = try #require(chain.load(anyRequest("/a")).outcomeIfCompleted).get()

    expectEqual(answer.request.url?.path, "/b")
    #expect(answer.request.headers.isEmpty)
    expectEqual(answer.redirections.count, 1)
    #expect(api.load("/a", caching: .onlyCached).summary.hasPrefix("200 one|hit"))
  }

  @Test("A 304 to a redirected validation is not about the stored response: the request is sent again")
  func redirectedNotModified() throws {
    let chain = api.layer --> Redirect() --> api.mock
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
    _ = chain.load(anyRequest("/a"))
    api.clock.advance(by: .seconds(20))
    api.answer(status: 302, [("Location", "/b")])
    api.answer(status: 304, [("ETag", "\"a\"")])
    api.answer("two")

    let answer = try #require(chain.load(anyRequest("/a")).outcomeIfCompleted).get()

    try expectEqual(answer.body, Data("two".utf8))
    #expect(!api.mock.requests[3].headers.contains("If-None-Match"))
  }

  @Test("Nothing printable shows a URL, a credential or a body")
  func printed() {
    api.answer("secret-body", [("Cache-Control", "max-age=60"), ("X", "secret-field")])
    api.load("/secret-path", [("Authorization", "secret-user")])

    var dumped = "\(api.cache) \(api.layer)"
    dump(api.cache, to: &dumped)
    dump(api.layer, to: &dumped)

    #expect(!dumped.contains("secret") && dumped.contains("1 responses"))
  }

  @Test("Ten identical requests in flight are sent once, and counted")
  func shared() {
    let held = api.mock.hold()
    let loads = (0..<10).map { _ in api.start() }

    loads[3].cancel()
    loads[0].cancel()
    held.answer(headers: Self.fresh, body: "one")

    expectEqual(loads.map(\.text).filter { $0 == "success" }.count, 8)
    expectEqual(api.sentCount, 1)
    expectEqual(api.cache.counts.misses, 1)
    expectEqual(api.cache.counts.shared, 9)
    expectEqual(api.cache.counts.hits, 0)
    let last = loads[9].outcomeIfCompleted.flatMap { try? $0.get() }
    expectEqual(last.summary, "200 one|fwd=uri-miss; fwd-status=200; stored; collapsed")
    expectEqual(api.load().summary, "200 one|hit; ttl=60")
    expectEqual(api.cache.counts.hits, 1)
  }

  @Test("When the last caller cancels, the load is cancelled and stores nothing", arguments: options)
  func cancelled(options: CancellationOptions) {
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(headers: Self.fresh)

    #expect(load.outcomeIfCompleted != nil)
    expectEqual(api.cache.count, 0)
    expectEqual(api.mock.pendingCount, 0)
  }

  @Test("A load goes on and is stored if its last caller cancels with `doNotForwardRequest`")
  func notForwarded() {
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(.doNotForwardRequest)
    #expect(held.cancelRequest == nil)
    held.answer(headers: Self.fresh, body: "one")

    expectEqual(load.text, "cancelled")
    expectEqual(api.load().summary, "200 one|hit; ttl=60")
  }

  @Test("A validation that is cancelled keeps the stored response as it was", arguments: options)
  func cancelledValidation(options: CancellationOptions) {
    api.storeStale()
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(status: .notModified, headers: try! HTTPHeaders([("Cache-Control", "max-age=600")]))

    #expect(load.outcomeIfCompleted != nil)
    expectEqual(api.mock.pendingCount, 0)
    expectEqual(api.load("/", caching: .onlyCached).summary, "200 one|hit; ttl=-10")
  }

  @Test("A cancelled validation with another entity tag is not sent again", arguments: options)
  func cancelledBeforeSecond(options: CancellationOptions) {
    api.storeStale()
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(status: .notModified, headers: try! HTTPHeaders([("ETag", "\"b\"")]))

    expectEqual(load.text, "cancelled")
    expectEqual(api.sentCount, 2)
  }

  @Test("A response from the cache sets no cookies, except those of a 304")
  func cookies() {
    let jar = CookieJar(date: api.clock.wallClock())
    let chain = StoreCookies(in: jar) --> api.chain
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\""), ("Set-Cookie", "first=1")])
    api.answer(status: 304, [("Cache-Control", "max-age=10"), ("Set-Cookie", "second=1")])
    _ = chain.load(anyRequest())
    expectEqual(jar.cookies.map(\.name), ["first"])

    jar.removeAll()
    _ = chain.load(anyRequest())
    expectEqual(jar.cookies, [])
    api.clock.advance(by: .seconds(15))
    _ = chain.load(anyRequest())

    expectEqual(jar.cookies.map(\.name), ["second"])
    expectEqual(api.sentCount, 2)
  }

  @Test("A retry is always sent, also if its failure was stored")
  func retried() {
    api.answer("down", status: 503, [("Cache-Control", "max-age=60")])
    api.answer("up", [("Cache-Control", "max-age=60")])
    let chain = Retry(clock: api.clock, random: .constant(1)) --> api.chain

    let load = chain.load(anyRequest())
    api.clock.advanceToNextTimer()

    expectEqual(load.text, "success")
    expectEqual(api.sentCount, 2)
    #expect(api.load().summary.hasPrefix("200 up|hit"))
  }

  @Test("A request without a host fails")
  func noHost() throws {
    let load = api.chain.load(try HTTPRequest(.get, path: "/"))

    expectEqual(load.outcomeIfCompleted?.code, .missingHost)
    expectEqual(api.sentCount, 0)
  }

  @Test("The default port is not part of the key, and the query is")
  func keys() throws {
    api.answer("one", [("Cache-Control", "max-age=60")])
    _ = api.chain.load(try HTTPRequest("http://example.com:80/"))

    expectEqual(api.load().summary, "200 one|hit; ttl=60")
    #expect(api.load("/?a", caching: .onlyCached) == nil)
    api.cache.remove(try HTTPURL("http://example.com/"))
    expectEqual(api.cache.count, 0)
    expectEqual(api.cache.size, 0)
  }

  @Test("`Cache-Status` of caches nearer to the server is kept before ours")
  func otherCaches() {
    api.answer([("Cache-Control", "max-age=60"), ("Cache-Status", "edge; hit")])

    expectEqual(
      api.load()?.headers.values(for: "Cache-Status"),
      [
        "edge; hit", "FutureTree; fwd=uri-miss; fwd-status=200; stored",
      ])
    expectEqual(api.load()?.headers.values(for: "Cache-Status"), ["edge; hit", "FutureTree; hit; ttl=60"])
  }
}
