import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Cache: files") struct CacheDirectoryTests {
  let stored = StoredCache()
  static let hit = "200 old|hit; ttl=60"
  static let miss = "200 new|fwd=uri-miss; fwd-status=200; stored"

  @Test("A later cache has the responses, with their fields, their body and their age")
  func restored() throws {
    let fields = [
      ("Cache-Control", "max-age=60"), ("Date", stored.clock.wallClock().now.field), ("X", "a"), ("x", "\"b\\\""),
      ("x", "café"),
    ]
    let body = Data([0, 10, 13, 255, 10, 10])
    let headers = received(fields)
    do {
      let api = try stored.open()
      api.mock.answer { HTTPResponse(to: $0, status: .notFound, headers: headers, body: body) }
      api.load("/a?b")
      stored.executor.runAll()
      #expect(api.cache.sizeOnDisk > 0)
    }

    stored.clock.advance(by: .seconds(20))
    let second = try stored.open()
    let response = try #require(stored.load(second, "/a?b"))

    expectEqual(response.status, .notFound)
    try expectEqual(response.body, body)
    for (name, value) in fields { #expect(response.headers.values(for: name).contains(value)) }
    expectEqual(response.headers["Age"], "20")
    expectEqual(response.request.path, "/a")
    expectEqual(second.sentCount, 0)
    expectEqual(second.cache.counts.hits, 1)
    expectEqual(second.cache.count, 1)
    #expect(second.cache.sizeOnDisk > 0)
    expectEqual(stored.takeFaults(), [])
    // The response is in memory now.
    #expect(second.load("/a?b") != nil)
    expectEqual(stored.executor.pendingCount, 0)
  }

  @Test("A cache that was not opened again writes nothing before it stores a response")
  func empty() throws {
    _ = try stored.open()
    expectEqual(stored.executor.runAll(), 0)
    expectEqual(stored.names, ["lock"])
  }

  @Test("Responses are separated by user and by `Vary`, also in files")
  func separated() throws {
    let api = try stored.open()
    for user in ["a", "b"] {
      for language in ["de", "en"] {
        api.answer(user + language, [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language, X")])
        api.load("/", [("Authorization", user), ("Accept-Language", language)])
      }
    }
    stored.executor.runAll()
    try expectEqual(stored.files.count, 4)
    withExtendedLifetime(api) {}
  }

  @Test("A later cache selects the response of the user and of the fields that `Vary` names")
  func selected() throws {
    try separated()
    let api = try stored.open()
    for user in ["a", "b"] {
      for language in ["de", "en"] {
        let fields = [("Authorization", user), ("Accept-Language", language)]
        expectEqual(stored.load(api, "/", fields).summary, "200 \(user)\(language)|hit; ttl=60")
      }
    }
    for fields in [[("Authorization", "a")], [("Authorization", "c"), ("Accept-Language", "de")], []] {
      #expect(stored.load(api, "/", fields, caching: .onlyCached) == nil)
    }
    expectEqual(api.sentCount, 0)
  }

  @Test("A later cache prefers the response that `Vary` selects to a newer one without `Vary`")
  func withoutVary() throws {
    try storeWithAndWithoutVary()
    let api = try stored.open()

    expectEqual(stored.load(api, "/", [("Accept-Language", "de")]).summary, "200 de|hit; ttl=60")
    expectEqual(stored.load(api, "/", [("Accept-Language", "en")]).summary, "200 default|hit; ttl=60")
  }

  private func storeWithAndWithoutVary() throws {
    let api = try stored.open()
    api.answer("de", [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")])
    api.load("/", [("Accept-Language", "de")])
    api.answer("default", [("Cache-Control", "max-age=60")])
    api.load()
    stored.executor.runAll()
  }

  @Test("The file of a response that `Vary` selected is removed when another response to its request is stored")
  func noLongerVaries() throws {
    try storeWithAndWithoutVary()
    do {
      let api = try stored.open()
      api.answer("new", [("Cache-Control", "max-age=60")])
      #expect(stored.load(api, "/", [("Accept-Language", "de")], caching: .reload).summary.hasPrefix("200 new"))
    }

    try expectEqual(stored.files.count, 1)
    try expectEqual(stored.reload("/", [("Accept-Language", "de")]), "200 new|hit; ttl=60")
  }

  @Test("Names and files show no URL and no credentials")
  func secrets() throws {
    try stored.store("body", at: "/secret", [("Authorization", "secret")])
    for file in try stored.files {
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      #expect(text.contains("body") && !(text + file.lastPathComponent).contains("secret"))
      let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
      expectEqual(attributes[.posixPermissions] as? Int, 0o600)
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: stored.directory.path)
    expectEqual(attributes[.posixPermissions] as? Int, 0o700)
  }

  @Test("The same response has another name in another directory, because names depend on a random key")
  func keyed() throws {
    let other = StoredCache()
    for stored in [stored, other] { try stored.store("old") }
    #expect(try stored.files[0].lastPathComponent != other.files[0].lastPathComponent)
  }

  @Test("A second cache for the directory is refused, until the first one is deallocated")
  func locked() throws {
    var first: CachedAPI? = try stored.open()
    let error = #expect(throws: HTTPError.self) { try stored.open() }
    expectEqual(error?.code, .storeFailed)
    expectEqual(error?.message.contains("in use by another cache"), true)
    withExtendedLifetime(first) {}
    first = nil
    #expect(throws: Never.self) { try stored.open() }
  }

  @Test("A second process is refused, and a process that was killed has no lock")
  func lockedByProcess() async throws {
    let path = stored.directory.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let cache = try HTTPCache(directory: URL(fileURLWithPath: path)) { _ in }
      withExtendedLifetime(cache) { _ = kill(getpid(), SIGKILL) }
    }
    let first = try stored.open()
    await #expect(processExitsWith: .success) { [path = path as String] in
      let error = #expect(throws: HTTPError.self) { try HTTPCache(directory: URL(fileURLWithPath: path)) { _ in } }
      expectEqual(error?.message.contains("in use by another cache"), true)
    }
    withExtendedLifetime(first) {}
  }

  @Test("A response that was validated, and a stream, are in files")
  func changed() async throws {
    try stored.store("old", seconds: 10)
    stored.clock.advance(by: .seconds(20))
    let api = try stored.open()
    api.answer([("Cache-Control", "max-age=60")], status: 304)
    expectEqual(stored.load(api).summary, "200 old|fwd=stale; fwd-status=304")
    let held = api.mock.stream("/stream", headers: CacheResponsesTests.fresh)
    var request = anyRequest("/stream")
    request.delivery = .stream()
    let response = try await api.chain.load(request).value
    held.send("text")
    held.finish()
    try await expectEqual(response.bodyStream.reduce(into: 0) { $0 += $1.count }, 4)
    stored.executor.runAll()
    withExtendedLifetime(api) {}
  }

  @Test("A later cache has validated responses and streams")
  func changedLater() async throws {
    try await changed()
    let api = try stored.open()
    expectEqual(stored.load(api).summary, Self.hit)
    expectEqual(stored.load(api, "/stream").summary, "200 text|hit; ttl=60")
    expectEqual(api.sentCount, 0)
  }

  @Test("A changed resource has no file, for any user")
  func invalidated() throws {
    for user in ["a", "b"] { try stored.store("old", at: "/", [("Authorization", user)]) }
    try stored.store("old", at: "/other")
    let api = try stored.open()
    api.mock.answer()

    _ = stored.load(api, method: .post)

    try expectEqual(stored.files.count, 1)
    expectEqual(stored.load(api, "/other").summary, Self.hit)
    #expect(stored.load(api, "/", [("Authorization", "a")], caching: .onlyCached) == nil)
  }

  @Test("A response is not read while its removal waits for the executor")
  func removedBeforeRead() throws {
    try stored.store("old")
    let api = try stored.open()
    api.cache.remove(try HTTPURL("http://example.com/"))
    let load = api.start(caching: .onlyCached)

    expectEqual(load.text, "notCached")
    expectEqual(stored.executor.pendingCount, 1)
    stored.executor.runAll()
    #expect(try stored.files.isEmpty)
  }

  @Test("A response that is removed while it is read is not used")
  func removedDuringRead() throws {
    try stored.store("old")
    let api = try stored.open()
    api.answer("new", [("Cache-Control", "max-age=60")])
    let load = api.start()
    api.cache.remove(try HTTPURL("http://example.com/"))

    stored.executor.runAll()

    expectEqual(load.outcomeIfCompleted.flatMap { try? $0.get() }.summary, Self.miss)
    stored.executor.runAll()
    try expectEqual(stored.files.count, 1)
    withExtendedLifetime(api) {}
  }

  @Test("Ten identical requests for a response in a file are answered from it, or sent once", arguments: [false, true])
  func shared(isDamaged: Bool) throws {
    try stored.store("old")
    if isDamaged { try stored.put(Data(), at: try stored.files[0]) }
    let api = try stored.open()
    let held = isDamaged ? api.mock.hold() : nil
    let loads = (0..<10).map { _ in api.start() }

    stored.executor.runAll()
    held?.answer(headers: CacheResponsesTests.fresh, body: "new")

    #expect(loads.allSatisfy { $0.text == "success" })
    expectEqual(api.sentCount, isDamaged ? 1 : 0)
    expectEqual(stored.takeFaults(), isDamaged ? [.storeFailed] : [])
  }
}

extension Date {
  fileprivate var field: String { HTTPDate(self)!.description }
}
