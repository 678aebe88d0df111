import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Loads, changes, cancellations and resets on many threads, with a cache in files that evicts all the time.
@Suite("Cache: files on many threads", .timeLimit(.minutes(20))) struct CacheStressTests {
  private let folder = try! Folder()
  private let faults = Locked<[HTTPError]>([])
  private let clock = ManualClock()
  private var directory: URL { folder.file("cache") }

  private func open(_ limits: HTTPCache.Limits) throws(HTTPError) -> HTTPCache {
    try HTTPCache(directory: directory, limits: limits, date: clock.wallClock()) { [faults] fault in
      faults.withLock { $0.append(fault) }
    }
  }

  /// Opens the directory when the last job of the cache before has released it.
  private func reopen() async throws -> HTTPCache {
    while true {
      do throws(HTTPError) { return try open(.init()) } catch {
        guard error.message.contains("in use by another cache") else { throw error }
      }
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  /// A server whose responses name the path, the user and the variant that they are for.
  private struct Server: HTTPLoader {
    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      let headers = try! HTTPHeaders([("Cache-Control", "max-age=60"), ("Vary", "Accept")])
      let body = request.method == .get ? CacheStressTests.expected(request) : "changed"
      let response = HTTPResponse(to: request, status: .ok, headers: headers, body: Data(body.utf8))
      return Future(on: .global()) { response }
    }

    func reset() -> Future<Void> { .succeeded }
  }

  private static func expected(_ request: HTTPRequest) -> String {
    "\(request.path) \(request.headers["Authorization"] ?? "-") \(request.headers["Accept"] ?? "-")"
  }

  private static func request(_ random: inout RandomSource) throws -> HTTPRequest {
    var request = try HTTPRequest("http://example.com/\(Int.random(in: 0..<8, using: &random))")
    if Bool.random(using: &random) { try request.setHeader("Authorization", "user") }
    try request.setHeader("Accept", "\(Int.random(in: 0..<3, using: &random))")
    return request
  }

  private static func run(_ api: any HTTPLoader, _ cache: HTTPCache, seed: UInt64) async throws {
    var random = RandomSource.seeded(seed)
    for _ in 0..<150 {
      var request = try request(&random)
      switch Int.random(in: 0..<40, using: &random) {
      case 0: try await api.reset().value
      case 1: cache.remove(try HTTPURL("http://example.com\(request.path)"))
      case 2: try await cache.flush().value
      case 3...6:
        request.method = .put
        _ = try await api.load(request).value
      case 7...12: api.load(request).cancel()
      default:
        let response = try await api.load(request).value
        expectEqual(String(decoding: try response.body, as: UTF8.self), expected(request))
      }
    }
  }

  @Test("Each response is that of its request, and a reset leaves no file")
  func threads() async throws {
    let cache = try open(.init(total: 3000, perEntry: 2000, onDisk: 20_000))
    let api = CacheResponses(in: cache) --> Server()
    try await withThrowingTaskGroup { group in
      for seed in 0..<8 { group.addTask { try await Self.run(api, cache, seed: UInt64(seed)) } }
      try await group.waitForAll()
    }

    #expect(cache.size <= 3000 && cache.sizeOnDisk <= 20_000)
    try await cache.removeAll().value
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: directory.path), ["lock"])
    #expect(faults.value.isEmpty)
  }

  @Test("A later cache has only responses to the same requests")
  func later() async throws {
    do {
      let cache = try open(.init(total: 3000, perEntry: 2000, onDisk: 20_000))
      let api = CacheResponses(in: cache) --> Server()
      try await withThrowingTaskGroup { group in
        for seed in 8..<16 { group.addTask { try await Self.run(api, cache, seed: UInt64(seed)) } }
        try await group.waitForAll()
      }
      // Files that wait for a slow disk are limited. This one does not wait.
      try await cache.flush().value
      _ = try await api.load(try HTTPRequest("http://example.com/last")).value
      try await cache.flush().value
    }

    let cache = try await reopen()
    let api = CacheResponses(in: cache) --> Server()
    #expect(cache.sizeOnDisk > 0)
    var random = RandomSource.seeded(1)
    for _ in 0..<200 {
      let request = try Self.request(&random)
      expectEqual(String(decoding: try await api.load(request).value.body, as: UTF8.self), Self.expected(request))
    }
    let last = try await api.load(try HTTPRequest("http://example.com/last")).value
    expectEqual(last.headers["Cache-Status"]?.contains("hit"), true)
    #expect(faults.value.isEmpty)
  }
}
