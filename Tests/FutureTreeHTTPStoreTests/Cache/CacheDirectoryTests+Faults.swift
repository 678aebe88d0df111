import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

extension CacheDirectoryTests {
  private func file(_ url: URL) -> PrivateFile { PrivateFile(url, name: "file of the cache", code: .storeFailed) }

  @Test("The format of a file does not change")
  func format() throws {
    let content = Data(
      """
      FutureTree response 1 CB7952BBCA64CA9EFABB05A32BBB5FF4EFF79CA354CC7A9F94A6B5522763DF24
      {"answered":1001,"asked":1000,"fields":["Date","Thu, 01 Jan 1970 00:16:41 GMT","ETag","\\"1\\""],"marks":0,"status":200}
      body
      """.utf8)
    let request = try HTTPRequest("https://example.com/")
    let key = CacheKey(request, try request.requireURL())

    let entry = try #require(CacheFile.decode(content, name: "name", key, request))
    let written = try CacheFile.encode(entry, name: "name")

    expectEqual(entry.body, Data("body".utf8))
    expectEqual(written, content)
    #expect(CacheFile.decode(content, name: "other", key, request) == nil)
  }

  @Test("A crash at any byte of a write leaves the old response")
  func crash() throws {
    try stored.store("old")
    let path = try stored.files[0]
    let old = try Data(contentsOf: path)
    let api = try stored.open()
    api.answer("newer", [("Cache-Control", "max-age=60")])
    expectEqual(stored.load(api, caching: .reload).summary, "200 newer|fwd=request; fwd-status=200; stored")
    let new = try Data(contentsOf: path)
    #expect(new != old)
    try withExtendedLifetime(api) { try crashed(path, old, new) }
  }

  private func crashed(_ path: URL, _ old: Data, _ new: Data) throws {
    let other = StoredCache()
    try FileManager.default.createDirectory(at: other.directory, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: stored.responses, to: other.responses)
    let path = other.responses.appendingPathComponent(path.lastPathComponent)
    for count in 0..<new.count {
      try other.put(old, at: path)
      try file(path).write(new, crashingAfter: count)
      try expectEqual(other.reload(), Self.hit, "after \(count) bytes")
      try expectEqual(other.files.count, 1, "The temporary file is left.")
    }
    try file(path).write(new)
    #expect(try other.reload() == "200 newer|hit; ttl=60" && other.takeFaults() == [])
  }

  @Test("A crash at any byte of the first write leaves no response")
  func crashOfKey() throws {
    try stored.store("old")
    let key = stored.responses.appendingPathComponent("key")
    let content = try Data(contentsOf: key)
    expectEqual(content.count, 32)

    for count in 0..<content.count {
      try? FileManager.default.removeItem(at: stored.responses)
      try file(key).write(content, crashingAfter: count)
      let api = try stored.open()
      #expect(stored.load(api, caching: .onlyCached) == nil)
      expectEqual(stored.takeFaults(), [])
    }
  }

  @Test("A damaged file is reported once and replaced, wherever it is damaged")
  func damaged() throws {
    try stored.store("old")
    let path = try stored.files[0]
    let whole = try Data(contentsOf: path)

    for position in 0..<whole.count {
      for damaged in [whole.prefix(position), whole.changing(position)] {
        try stored.put(damaged, at: path)
        try expectEqual(stored.reload(), Self.miss, "at \(position)")
        expectEqual(stored.takeFaults(), [.storeFailed])
        #expect(try stored.reload() == "200 new|hit; ttl=60" && stored.takeFaults() == [])
      }
    }
  }

  @Test("A file with the name of another response is damaged")
  func renamed() throws {
    try stored.store("old", at: "/a")
    try stored.store("other", at: "/b")
    let files = try stored.files
    let contents = try files.map { try Data(contentsOf: $0) }
    for (file, content) in zip(files, contents.reversed()) { try stored.put(content, at: file) }

    for path in ["/a", "/b"] { #expect(try stored.reload(path) == Self.miss) }
    expectEqual(stored.takeFaults(), [.storeFailed, .storeFailed])
  }

  @Test("A damaged key is reported, and all responses are removed")
  func damagedKey() throws {
    try stored.store("old")
    try stored.put(Data("short".utf8), at: stored.responses.appendingPathComponent("key"))

    try expectEqual(stored.reload(), Self.miss)

    expectEqual(stored.takeFaults(), [.storeFailed])
    try expectEqual(stored.files.count, 1)
  }

  @Test("A file that others can read, and a link, are not used and removed", arguments: ["readable", "link", "large"])
  func unsafe(fault: String) throws {
    try stored.store("old")
    let path = try stored.files[0]
    switch fault {
    case "readable": try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path.path)
    case "large": try stored.put(Data(count: 10 << 20), at: path)
    default:
      let other = stored.directory.appendingPathComponent("other")
      try FileManager.default.moveItem(at: path, to: other)
      try FileManager.default.createSymbolicLink(at: path, withDestinationURL: other)
    }

    try expectEqual(stored.reload(), Self.miss)
    expectEqual(stored.takeFaults(), [.storeFailed])
    #expect(try stored.reload() == "200 new|hit; ttl=60" && stored.takeFaults() == [])
  }

  @Test("A directory that others can write to, and a URL that is no file, are refused")
  func refused() throws {
    try FileManager.default.createDirectory(at: stored.directory, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: stored.directory.path)
    let error = #expect(throws: HTTPError.self) { try stored.open() }
    expectEqual(error?.code, .storeFailed)
    expectEqual(error?.message.contains(stored.directory.path), false)

    let remote = #expect(throws: HTTPError.self) {
      try HTTPCache(directory: URL(string: "https://example.com/")!) { _ in }
    }
    expectEqual(remote?.code, .storeFailed)
  }

  @Test("Faults of writing are reported once, no load fails, and a later write succeeds")
  func unwritable() throws {
    let api = try stored.open()
    try Data().write(to: stored.responses)  // A file instead of the directory.

    for path in ["/a", "/b"] {
      api.answer(path, [("Cache-Control", "max-age=60")])
      expectEqual(stored.load(api, path).summary, "200 \(path)|fwd=uri-miss; fwd-status=200; stored")
    }
    expectEqual(stored.takeFaults(), [.storeFailed])
    let flush = api.cache.flush()
    stored.executor.runAll()
    expectEqual(flush.text, "storeFailed")
    expectEqual(api.cache.sizeOnDisk, 0)

    try FileManager.default.removeItem(at: stored.responses)
    api.answer("old", [("Cache-Control", "max-age=60")])
    #expect(stored.load(api, "/c") != nil)
    expectEqual(stored.takeFaults(), [])
    let second = api.cache.flush()
    stored.executor.runAll()
    expectEqual(second.text, "success")
    try expectEqual(stored.files.count, 1)
  }

  @Test("A response that cannot be written leaves no older file")
  func unwritableAfterFile() throws {
    try stored.store("old")
    let name = try stored.files[0].lastPathComponent
    let api = try stored.open(random: RandomSource { 0 })
    // The name of the temporary file is not random here.
    let temporary = ".\(name).new-" + String(repeating: "00", count: 12)
    try stored.put(Data(), at: stored.responses.appendingPathComponent(temporary))
    api.answer("new", [("Cache-Control", "max-age=60")])

    expectEqual(stored.load(api, caching: .reload).summary, "200 new|fwd=request; fwd-status=200; stored")

    expectEqual(stored.takeFaults(), [.storeFailed])
    #expect(try !stored.files.map(\.lastPathComponent).contains(name))
    expectEqual(stored.load(api).summary, "200 new|hit; ttl=60")
  }

  @Test("Responses that the platform removes are loaded again without a fault")
  func purged() throws {
    try stored.store("old")
    let api = try stored.open()
    try FileManager.default.removeItem(at: stored.responses)
    api.answer("new", [("Cache-Control", "max-age=60")])

    expectEqual(stored.load(api).summary, Self.miss)
    expectEqual(stored.takeFaults(), [])
  }

  @Test("After the platform has removed all files, new responses have a key")
  func purgedKey() throws {
    do {
      let api = try stored.open()
      for path in ["/a", "/b"] {
        try? FileManager.default.removeItem(at: stored.responses)
        api.answer("old", [("Cache-Control", "max-age=60")])
        _ = stored.load(api, path)
      }
    }

    try expectEqual(stored.reload("/b"), Self.hit)
  }

  @Test("If the executor drops its jobs, loads are sent, and a reset fails")
  func dropped() throws {
    try stored.store("old")
    var executor: ManualExecutor? = ManualExecutor()
    let cache = try HTTPCache(
      directory: stored.directory, date: stored.clock.wallClock(), on: executor!.executor, onFault: { _ in })
    let api = CachedAPI(cache, stored.clock)
    api.answer("new")
    let load = api.start()
    let reset = cache.removeAll()
    executor = nil

    expectEqual(load.outcomeIfCompleted.flatMap { try? $0.get() }?.status, .ok)
    #expect(throws: DroppedJob.self) { try reset.outcomeIfCompleted?.get() }
  }
}

extension Data {
  func changing(_ position: Int) -> Data {
    var changed = self
    changed[startIndex + position] ^= 1
    return changed
  }
}
