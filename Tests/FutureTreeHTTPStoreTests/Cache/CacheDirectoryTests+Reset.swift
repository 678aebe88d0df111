import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

extension CacheDirectoryTests {
  private static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  @Test("A load that is cancelled while its file is read is not sent", arguments: options)
  func cancelledDuringRead(options: CancellationOptions) throws {
    try stored.store("old")
    try stored.put(Data(), at: try stored.files[0])
    let api = try stored.open()
    let load = api.start()

    load.cancel(options, reason: "test")
    stored.executor.runAll()

    expectEqual(load.text, "cancelled")
    expectEqual(api.sentCount, 0)
  }

  @Test("A reset removes all files, and waits for it")
  func reset() throws {
    try stored.store("old", at: "/a")
    let api = try stored.open()
    api.answer("new", [("Cache-Control", "max-age=60")])
    api.load("/b")

    let reset = api.chain.reset()
    #expect(reset.outcomeIfCompleted == nil)
    expectEqual(api.cache.sizeOnDisk, 0)
    stored.executor.runAll()

    expectEqual(reset.text, "success")
    expectEqual(stored.names, ["lock"])
    #expect(stored.load(api, "/a", caching: .onlyCached) == nil)
  }

  @Test("A load that was in flight during a reset writes no file", arguments: [false, true])
  func inFlight(isRead: Bool) throws {
    if isRead { try stored.store("old") }
    let api = try stored.open()
    let held = api.mock.hold()
    let load = api.start()

    let reset = api.cache.removeAll()
    stored.executor.runAll()
    held.answer(headers: CacheResponsesTests.fresh, body: "new")
    stored.executor.runAll()

    expectEqual(reset.text, "success")
    expectEqual(load.text, "success")
    expectEqual(stored.names, ["lock"])
    expectEqual(api.cache.count, 0)
    expectEqual(api.sentCount, 1)
  }

  @Test("After a reset, responses have names from another key, which is stored")
  func newKey() throws {
    try stored.store("older")
    let name = try stored.files[0].lastPathComponent
    do {
      let api = try stored.open()
      api.cache.removeAll()
      api.answer("old", [("Cache-Control", "max-age=60")])
      #expect(stored.load(api) != nil)
    }

    try expectEqual(stored.files.count, 1)
    #expect(try stored.files[0].lastPathComponent != name)
    try expectEqual(stored.reload(), Self.hit)
  }

  @Test("A reset that a crash ended leaves nothing")
  func crashedReset() throws {
    try stored.store("old")
    try FileManager.default.moveItem(
      at: stored.responses, to: stored.directory.appendingPathComponent("removed-0123456789ABCDEF"))

    let api = try stored.open()

    expectEqual(stored.names, ["lock"])
    #expect(stored.load(api, caching: .onlyCached) == nil)
    expectEqual(stored.takeFaults(), [])
  }

  @Test("A reset that cannot remove the files fails, and the responses are not used")
  func failedReset() throws {
    try stored.store("old")
    do {
      let api = try stored.open(random: RandomSource { 0 })
      let obstacle = stored.directory.appendingPathComponent("removed-" + String(repeating: "00", count: 8))
      try FileManager.default.createDirectory(
        at: obstacle.appendingPathComponent("a"), withIntermediateDirectories: true)

      let reset = api.cache.removeAll()
      stored.executor.runAll()

      expectEqual(reset.text, "storeFailed")
      expectEqual(stored.takeFaults(), [.storeFailed])
      #expect(stored.load(api, caching: .onlyCached) == nil)
      api.answer("old", [("Cache-Control", "max-age=60")])
      _ = stored.load(api, "/b")
    }

    let later = try stored.open()
    #expect(stored.load(later, caching: .onlyCached) == nil)
    expectEqual(stored.load(later, "/b", caching: .onlyCached).summary, Self.hit)
  }

  @Test("The largest limits are accepted")
  func largestLimits() throws {
    do {
      let api = try stored.open(.init(total: .max, perEntry: .max, onDisk: .max))
      api.answer("old", [("Cache-Control", "max-age=60")])
      _ = stored.load(api)
    }

    try expectEqual(stored.reload(), Self.hit)
  }

  @Test("Responses that are not in memory are read from their files")
  func withoutMemory() throws {
    let api = try stored.open(.init(total: 0))
    api.answer("old", [("Cache-Control", "max-age=60")])

    expectEqual(stored.load(api).summary, "200 old|fwd=uri-miss; fwd-status=200; stored")
    expectEqual(stored.load(api).summary, Self.hit)
    expectEqual(api.cache.count, 0)
    expectEqual(api.sentCount, 1)
  }

  @Test("The responses that were not used for the longest time are removed, also those of earlier caches")
  func evicted() throws {
    for path in ["/a", "/b", "/c"] { try stored.store("old", at: path) }
    // The order of use in the file system, whose times may be the same.
    let files = try stored.files
    for (number, file) in files.enumerated() {
      let date = Date(timeIntervalSince1970: Double(1_000_000 - number))
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    }
    let size = try stored.open().cache.sizeOnDisk / 3
    let api = try stored.open(.init(onDisk: 2 * size))
    stored.executor.runAll()

    #expect(try stored.files == Array(files.dropLast()) && api.cache.sizeOnDisk == 2 * size)
    api.answer("new", [("Cache-Control", "max-age=60")])
    #expect(stored.load(api, "/d") != nil)
    let later = try stored.files
    #expect(later.count == 2 && later.contains(files[0]) && api.cache.sizeOnDisk <= 2 * size)
  }

  @Test("A later cache knows the order in which the responses were used", arguments: 0..<3)
  func order(newest: Int) throws {
    for path in ["/a", "/b", "/c"] { try stored.store("old", at: path) }
    let files = try stored.files
    for (number, file) in files.enumerated() {
      let date = Date(timeIntervalSince1970: number == newest ? 1_000_000 : 999_000)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    }

    let size = try stored.open().cache.sizeOnDisk / 3
    _ = try stored.open(.init(onDisk: size))
    stored.executor.runAll()

    try expectEqual(stored.files, [files[newest]])
  }

  @Test("A response that is read is used, and is not the next one to be removed")
  func used() throws {
    for path in ["/a", "/b"] { try stored.store("old", at: path) }
    let files = try stored.files
    for file in files {
      let date = Date(timeIntervalSince1970: 1_000_000)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    }
    let api = try stored.open()

    expectEqual(stored.load(api, "/a").summary, Self.hit)

    let dates = try files.map { file in
      try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date ?? .distantPast
    }
    expectEqual(dates.filter { $0.timeIntervalSince1970 > 1_000_000 }.count, 1)
  }

  @Test("Among the files of one cache, the order of use decides as well")
  func usedInOneCache() throws {
    let api = try stored.open(.init(total: 0, onDisk: 2000))
    for path in ["/a", "/b"] {
      api.answer("old", [("Cache-Control", "max-age=60")])
      _ = stored.load(api, path)
    }
    expectEqual(stored.load(api, "/a").summary, Self.hit)
    api.answer("old", [("Cache-Control", "max-age=60")])
    _ = stored.load(api, "/c")

    expectEqual(stored.load(api, "/a", caching: .onlyCached).summary, Self.hit)
    #expect(stored.load(api, "/b", caching: .onlyCached) == nil)
  }

  @Test("Responses that wait for a slow disk are limited, and stay in memory")
  func slowDisk() throws {
    let api = try stored.open(.init(total: 3000, perEntry: 2000))
    for path in ["/a", "/b", "/c", "/d"] {
      api.answer(String(repeating: "x", count: 500), [("Cache-Control", "max-age=60")])
      api.load(path)
    }
    stored.executor.runAll()

    try expectEqual(stored.files.count, 2)
    for path in ["/e", "/f"] {
      api.answer(String(repeating: "x", count: 500), [("Cache-Control", "max-age=60")])
      _ = stored.load(api, path)
    }
    try expectEqual(stored.files.count, 4)
    expectEqual(stored.takeFaults(), [])
  }

  @Test("A response that is not written because of a slow disk leaves no older file")
  func slowDiskAfterFile() throws {
    try stored.store("old")
    let api = try stored.open(.init(total: 3300, perEntry: 2000))
    expectEqual(stored.load(api).summary, Self.hit)
    for (path, caching) in [("/a", RequestCaching.standard), ("/b", .standard), ("/", .reload)] {
      api.answer(String(repeating: "x", count: 500), [("Cache-Control", "max-age=60")])
      api.load(path, caching: caching)
    }
    stored.executor.runAll()

    expectEqual(api.sentCount, 3)
    try expectEqual(stored.files.count, 2)
    withExtendedLifetime(api) {}
  }

  @Test("At most 32 responses differ in the fields that `Vary` names, in memory and in files")
  func variants() throws {
    let api = try stored.open()
    for number in 0..<40 {
      api.answer("\(number)", [("Cache-Control", "max-age=60"), ("Vary", "Accept")])
      _ = stored.load(api, "/", [("Accept", "\(number)")])
    }

    expectEqual(api.cache.count, 32)
    try expectEqual(stored.files.count, 32)
    #expect(stored.load(api, "/", [("Accept", "7")], caching: .onlyCached) == nil)
    #expect(stored.load(api, "/", [("Accept", "8")], caching: .onlyCached) != nil)
  }
}
