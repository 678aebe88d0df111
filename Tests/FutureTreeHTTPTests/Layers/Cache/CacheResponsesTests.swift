import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: CacheResponses") struct CacheResponsesTests {
  private let api = CachedAPI()
  private static let fresh = try! HTTPHeaders([("Cache-Control", "max-age=60")])
  private static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .forceImmediately,
  ]

  @Test("A response to one user never answers another")
  func users() {
    for user in ["Basic a", "Basic b"] {
      api.answer(user, [("Cache-Control", "max-age=60")])
      api.load("/", [("Authorization", user)])
    }

    #expect(api.load("/", [("Authorization", "Basic a")]).summary == "200 Basic a|hit; ttl=60")
    #expect(api.load("/", [("Authorization", "Basic b")]).summary == "200 Basic b|hit; ttl=60")
    #expect(api.load("/", caching: .onlyCached) == nil)
    #expect(api.load("/", [("Authorization", "Basic c")], caching: .onlyCached) == nil)
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

    #expect(loads.map(\.text).filter { $0 == "success" }.count == 8 && api.sentCount == 1)
    #expect(api.cache.counts.misses == 1 && api.cache.counts.shared == 9 && api.cache.counts.hits == 0)
    let last = loads[9].outcomeIfCompleted.flatMap { try? $0.get() }
    #expect(last.summary == "200 one|fwd=uri-miss; fwd-status=200; stored; collapsed")
    #expect(api.load().summary == "200 one|hit; ttl=60" && api.cache.counts.hits == 1)
  }

  @Test("When the last caller cancels, the load is cancelled and stores nothing", arguments: options)
  func cancelled(options: CancellationOptions) {
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(headers: Self.fresh)

    #expect(load.outcomeIfCompleted != nil && api.cache.count == 0 && api.mock.pendingCount == 0)
  }

  @Test("A load goes on and is stored if its last caller cancels with `doNotForwardRequest`")
  func notForwarded() {
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(.doNotForwardRequest)
    #expect(held.cancelRequest == nil)
    held.answer(headers: Self.fresh, body: "one")

    #expect(load.text == "cancelled" && api.load().summary == "200 one|hit; ttl=60")
  }

  @Test("A validation that is cancelled keeps the stored response as it was", arguments: options)
  func cancelledValidation(options: CancellationOptions) {
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(status: .notModified, headers: try! HTTPHeaders([("Cache-Control", "max-age=600")]))

    #expect(load.outcomeIfCompleted != nil && api.mock.pendingCount == 0)
    #expect(api.load("/", caching: .onlyCached).summary == "200 one|hit; ttl=-10")
  }

  @Test("A cancelled validation with another entity tag is not sent again", arguments: options)
  func cancelledBeforeSecond(options: CancellationOptions) {
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    let load = api.start()

    load.cancel(options)
    held.answer(status: .notModified, headers: try! HTTPHeaders([("ETag", "\"b\"")]))

    #expect(load.text == "cancelled" && api.sentCount == 2)
  }

  @Test("A response from the cache sets no cookies, except those of a 304")
  func cookies() {
    let jar = CookieJar(date: api.clock.wallClock())
    let chain = StoreCookies(in: jar) --> api.chain
    api.answer("one", [("Cache-Control", "max-age=10"), ("ETag", "\"a\""), ("Set-Cookie", "first=1")])
    api.answer(status: 304, [("Cache-Control", "max-age=10"), ("Set-Cookie", "second=1")])
    _ = chain.load(anyRequest())
    #expect(jar.cookies.map(\.name) == ["first"])

    jar.removeAll()
    _ = chain.load(anyRequest())
    #expect(jar.cookies == [])
    api.clock.advance(by: .seconds(15))
    _ = chain.load(anyRequest())

    #expect(jar.cookies.map(\.name) == ["second"] && api.sentCount == 2)
  }

  @Test("A retry is always sent, also if its failure was stored")
  func retried() {
    api.answer("down", status: 503, [("Cache-Control", "max-age=60")])
    api.answer("up", [("Cache-Control", "max-age=60")])
    let chain = Retry(clock: api.clock, random: .constant(1)) --> api.chain

    let load = chain.load(anyRequest())
    api.clock.advanceToNextTimer()

    #expect(load.text == "success" && api.sentCount == 2)
    #expect(api.load().summary.hasPrefix("200 up|hit"))
  }

  // MARK: Streams

  private func stream(_ held: HeldStream) async throws -> HTTPBodyStream {
    var request = anyRequest()
    request[option: ResponseDelivery.self] = .stream()
    return try await api.chain.load(request).value.bodyStream
  }

  @Test("A stream is stored while it flows, and is in the cache when it is whole")
  func streamed() async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)

    held.send("one ")
    #expect(api.cache.count == 0)
    held.send("two")
    held.finish()
    var text = Data()
    for try await chunk in body { text += chunk }

    #expect(String(decoding: text, as: UTF8.self) == "one two")
    #expect(api.load().summary == "200 one two|hit; ttl=60")
    #expect(try await stream(held).reduce(into: Data()) { $0 += $1 } == text && api.sentCount == 1)
  }

  @Test("A stream that fails or is cancelled is not stored", arguments: [true, false])
  func cutStream(isCancelled: Bool) async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)
    held.send("one")

    if isCancelled {
      body.transfer.cancel()
      held.completeCancelled()
    } else {
      held.fail(Oops())
    }

    #expect(body.transfer.outcomeIfCompleted != nil && api.cache.count == 0)
  }

  @Test("A stream that is larger than the limit is delivered, and not stored")
  func longStream() async throws {
    let api = CachedAPI(HTTPCache.Limits(perEntry: 10))
    let held = api.mock.stream(headers: Self.fresh)
    var request = anyRequest()
    request[option: ResponseDelivery.self] = .stream()
    let body = try await api.chain.load(request).value.bodyStream
    for _ in 0..<4 { held.send("12345") }
    held.finish()

    #expect(try await body.reduce(into: Data()) { $0 += $1 }.count == 20 && api.cache.count == 0)
  }

  @Test("A stream from before a reset is not stored")
  func streamAfterReset() async throws {
    let held = api.mock.stream(headers: Self.fresh)
    let body = try await stream(held)
    held.send("one")
    api.cache.removeAll()
    held.finish()

    #expect(try await body.reduce(into: Data()) { $0 += $1 }.count == 3 && api.cache.count == 0)
  }

  @Test("A request whose body is delivered into a file is sent, and not stored")
  func file() throws {
    let folder = try Folder()
    api.answer("one", [("Cache-Control", "max-age=60")])
    var request = anyRequest()
    request[option: ResponseDelivery.self] = .file(folder.file("body"))

    let response = api.chain.load(request).outcomeIfCompleted.flatMap { try? $0.get() }

    #expect(response.summary == "200 no body|fwd=bypass; fwd-status=200" && api.cache.count == 0)
  }

  // MARK: Reset

  @Test("A reset removes all responses, and loads from before it store nothing")
  func reset() {
    let below = HeldResets()
    below.mock.answer(headers: Self.fresh)
    let chain = api.layer --> below
    _ = chain.load(anyRequest("/a"))
    let held = below.mock.hold()
    let load = chain.load(anyRequest("/b"))

    let reset = chain.reset()
    #expect(api.cache.count == 0 && reset.outcomeIfCompleted == nil)
    held.answer(headers: Self.fresh)
    below.endReset()

    #expect(reset.text == "success" && load.text == "success" && api.cache.count == 0)
  }

  @Test("A response that is stored while the next loader is reset is removed")
  func resetTwice() {
    let below = HeldResets()
    below.mock.answer(headers: Self.fresh)
    let chain = api.layer --> below

    let reset = chain.reset()
    _ = chain.load(anyRequest())
    #expect(api.cache.count == 1)
    below.endReset()

    #expect(reset.text == "success" && api.cache.count == 0)
  }

  @Test("After a reset, no request joins an earlier load")
  func noJoin() {
    let held = [api.mock.hold(), api.mock.hold()]
    let old = api.start()
    api.chain.reset()
    let new = api.start()

    held[0].answer(headers: Self.fresh, body: "old")
    held[1].answer(headers: Self.fresh, body: "new")

    #expect(old.text == "success" && new.text == "success" && api.sentCount == 2)
  }

  @Test("A reset cancels a validation in the background, and waits for it")
  func resetRefresh() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    api.load()

    let reset = api.layer.reset(next: HeldResets(Recorder()).mock)
    #expect(held.cancelRequest != nil && reset.outcomeIfCompleted == nil)
    held.complete(.cancelled)

    #expect(reset.text == "success" && api.cache.count == 0)
  }

  @Test("A cancelled caller does not end a validation in the background")
  func refreshSurvives() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()

    api.start().cancel(.forceImmediately)

    #expect(held.cancelRequest == nil)
    held.answer(headers: Self.fresh, body: "two")
    #expect(api.load().summary == "200 two|hit; ttl=60")
  }

  @Test("A validation in the background has neither the deadline nor the delivery of its request")
  func refreshOptions() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()
    var request = anyRequest()
    request[option: RequestDeadline.self] = .after(.seconds(1), clock: api.clock)
    request[option: ResponseDelivery.self] = .stream()

    let stale = api.chain.load(request).outcomeIfCompleted.flatMap { try? $0.get() }
    api.clock.advance(by: .seconds(5))

    #expect(stale.summary == "200 one|hit; ttl=-10" && held.cancelRequest == nil)
    #expect(held.request?[option: ResponseDelivery.self].isStream == false)
  }

  @Test("A stored response that is larger than the request accepts is not used")
  func maximumSize() {
    api.answer("12345", [("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])
    api.load()
    api.answer("12345", [("Cache-Control", "max-age=60")])
    var request = anyRequest()
    request[option: ResponseDelivery.self] = .buffered(maximumSize: 4)

    // A transport fails with the code `bodyTooLarge`. The mock has no limit.
    _ = api.chain.load(request)
    #expect(api.sentCount == 2 && api.mock.requests[1].headers.isEmpty)
    request[option: ResponseDelivery.self] = .buffered(maximumSize: 5)
    _ = api.chain.load(request)

    #expect(api.sentCount == 2)
  }

  @Test("A request without a host fails")
  func noHost() throws {
    let load = api.chain.load(try HTTPRequest(.get, path: "/"))

    #expect(load.outcomeIfCompleted?.code == .missingHost && api.sentCount == 0)
  }

  @Test("The default port is not part of the key, and the query is")
  func keys() throws {
    api.answer("one", [("Cache-Control", "max-age=60")])
    _ = api.chain.load(try HTTPRequest("http://example.com:80/"))

    #expect(api.load().summary == "200 one|hit; ttl=60")
    #expect(api.load("/?a", caching: .onlyCached) == nil)
    api.cache.remove(try HTTPURL("http://example.com/"))
    #expect(api.cache.count == 0 && api.cache.size == 0)
  }

  @Test("`Cache-Status` of caches nearer to the server is kept before ours")
  func otherCaches() {
    api.answer([("Cache-Control", "max-age=60"), ("Cache-Status", "edge; hit")])

    #expect(
      api.load()?.headers.values(for: "Cache-Status") == [
        "edge; hit", "FutureTree; fwd=uri-miss; fwd-status=200; stored",
      ])
    #expect(api.load()?.headers.values(for: "Cache-Status") == ["edge; hit", "FutureTree; hit; ttl=60"])
  }
}
