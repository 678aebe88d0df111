import Foundation
import FutureTree
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Cookies: the file") struct CookieFileTests {
  private let folder = try! Folder()
  private let faults = Locked<[HTTPError]>([])
  private let url = try! HTTPURL("https://example.com/")
  private let clock = ManualClock()
  private var file: URL { folder.file("cookies") }

  private func open() -> CookieJar {
    CookieJar(file: file, date: clock.wallClock()) { [faults] fault in faults.withLock { $0.append(fault) } }
  }

  /// Opens a jar, and stores cookies in the file.
  private func opened(with cookies: String...) async throws -> CookieJar {
    let jar = open()
    for cookie in cookies { jar.store(cookie, from: url) }
    try await jar.flush().value
    return jar
  }

  /// Replaces the file, whose permissions are set explicitly.
  private func put(_ data: Data, permissions: Int = 0o600) throws {
    try data.write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
  }

  private var names: [String] { open().cookies.map(\.name) }

  @Test("Cookies with an expiry are read again, with their order and their attributes")
  func restored() async throws {
    let jar = open()
    for text in [
      "b=1; Max-Age=60; Secure; HttpOnly; SameSite=Lax; Path=/x", "session=1", "a=2; Max-Age=60; Domain=example.com",
    ] {
      #expect(jar.store(text, from: url))
    }
    try await jar.flush().value

    let restored = open()
    expectEqual(restored.cookies, jar.cookies.filter { $0.expires != nil })
    expectEqual(restored.cookies.map(\.name), ["b", "a"])
    restored.store("b=3; Max-Age=60; Path=/x", from: url)
    try await restored.flush().value  // Otherwise the file can be written after its folder was removed.
    expectEqual(restored.cookies.map(\.value), ["3", "2"])
    #expect(faults.value.isEmpty)
  }

  @Test("Only the user can read the file, which is removed with its last cookie")
  func permissions() async throws {
    let jar = open()
    #expect(!FileManager.default.fileExists(atPath: file.path))
    jar.store("a=1; Max-Age=60", from: url)
    try await jar.flush().value
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    expectEqual(attributes[.posixPermissions] as? Int, 0o600)
    expectEqual(folder.names, ["cookies"])

    jar.store("a=; Max-Age=0", from: url)
    try await jar.flush().value
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test("The format of the file does not change")
  func format() throws {
    let content = Data(
      """
      FutureTree cookies 1 891A38E3E78405E0E22C203D13BF50E1D5E8F00AD3871DDF4A48FBC257ED169B
      [{"creation":0,"domain":"example.com","expires":60,"isHTTPOnly":false,"isHostOnly":true,"isSecure":true,"lastUse":1,\
      "name":"a","path":"\\/","sameSite":"lax","value":"1"}]
      """.utf8)

    let cookies = try #require(CookieFile.decode(content))
    let written = try CookieFile.encode(cookies)

    expectEqual(cookies.map(\.name), ["a"])
    expectEqual(written, content)
  }

  @Test("A crash at any byte of a write leaves the old cookies")
  func crash() async throws {
    let jar = try await opened(with: "old=1; Max-Age=60")
    let old = try Data(contentsOf: file)
    jar.store("new=1; Max-Age=60", from: url)
    try await jar.flush().value
    let new = try Data(contentsOf: file)

    for count in 0..<new.count {
      try put(old)
      try CookieFile.file(file).write(new, crashingAfter: count)
      expectEqual(names, ["old"], "after \(count) bytes")
    }
    try CookieFile.file(file).write(new)
    expectEqual(names, ["old", "new"])
    #expect(faults.value.isEmpty)
    try await open().removeAll().value
    expectEqual(folder.names, [])
  }

  @Test("A damaged file is reported once and replaced, wherever it is damaged")
  func damaged() async throws {
    _ = try await opened(with: "a=1; Max-Age=60")
    let whole = try Data(contentsOf: file)

    for position in 0..<whole.count {
      for damaged in [whole.prefix(position), whole.changing(position)] {
        try put(damaged)
        let jar = open()
        #expect(jar.cookies == [] && faults.value.map(\.code) == [.storeFailed], "at \(position)")
        try await jar.flush().value
        expectEqual(names, [])
        expectEqual(faults.value.count, 1)
        faults.value = []
      }
    }
  }

  @Test("A file that cannot be written is reported, and the jar continues in memory")
  func unwritable() async throws {
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    let jar = open()
    expectEqual(faults.value.map(\.code), [.storeFailed])

    #expect(jar.store("a=1; Max-Age=60", from: url))
    expectEqual(jar.cookies.map(\.name), ["a"])

    let error = await #expect(throws: HTTPError.self) { try await jar.flush().value }
    expectEqual(error?.code, .storeFailed)
    expectEqual(faults.value.count, 2)
    expectEqual(error?.message.contains(folder.url.path), false)
    expectEqual(folder.names, ["cookies"])
  }

  @Test("A file that others can read or replace is not used", arguments: ["readable", "link", "large", "folder"])
  func unsafe(fault: String) async throws {
    _ = try await opened(with: "a=1; Max-Age=60")
    let data = try Data(contentsOf: file)
    switch fault {
    case "readable": try put(data, permissions: 0o640)
    case "link":
      try FileManager.default.moveItem(at: file, to: folder.file("other"))
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: folder.file("other"))
    case "large": try put(data + Data(count: 16 << 20))
    default: try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
    }

    expectEqual(names, [])
    expectEqual(faults.value.map(\.code), [.storeFailed])
  }

  @Test("Removing all cookies removes the file, and what a crash left")
  func removed() async throws {
    let jar = try await opened(with: "a=1; Max-Age=60")
    try CookieFile.file(file).write(Data("rest".utf8), crashingAfter: 2)
    expectEqual(folder.names.count, 2)

    try await jar.removeAll().value

    expectEqual(jar.cookies, [])
    expectEqual(folder.names, [])
  }

  @Test("After many changes at the same time, the file has the last cookies")
  func concurrent() async throws {
    let jar = open()
    await withTaskGroup { group in
      for number in 0..<50 {
        group.addTask { [url] in jar.store("c\(number % 5)=\(number); Max-Age=60", from: url) }
      }
    }
    try await jar.flush().value

    expectEqual(open().cookies, jar.cookies)
    expectEqual(jar.cookies.count, 5)
  }

  @Test("Older cookies do not replace newer ones")
  func older() async throws {
    let jar = CookieJar(date: clock.wallClock())
    jar.store("a=1; Max-Age=60", from: url)
    let writer = CookieFile(file) { _ in }

    writer.write(jar.cookies, version: 2)
    try await writer.flush().value
    writer.write([], version: 1)
    try await writer.flush().value

    expectEqual(names, ["a"])
  }

  @Test("A cookie that expired in the meantime is not read")
  func expired() async throws {
    _ = try await opened(with: "a=1; Max-Age=60", "b=1; Max-Age=61")

    clock.advance(by: .seconds(60))

    expectEqual(names, ["b"])
  }
}
