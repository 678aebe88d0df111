import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: Resume, partial files") struct PartialFileTests {
  private let file: FilmFile

  init() throws {
    file = try FilmFile()
  }

  private var text: String? { file.folder.text(of: "film") }

  private func open(_ url: String = "http://example.com/film?id=1") throws -> PartialFile? {
    try PartialFile(of: HTTPRequest(url), in: file.directory, for: file.folder.file("film"))
  }

  private static func state(length: Int? = 10) -> ResumeState {
    ResumeState(validator: Film.tag, origin: "http://example.com", total: length, position: 0)
  }

  /// Leaves a partial file with this text.
  private func leave(_ text: String, length: Int? = 10) throws {
    let partial = try #require(try open())
    try partial.restart(Self.state(length: length))
    try partial.append(Data(text.utf8))
    partial.keep()
  }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: file.directory.path) }

  private func path(_ extension: String) throws -> URL {
    let name = try #require(try names().first { $0.hasSuffix(`extension`) })
    return file.directory.appendingPathComponent(name)
  }

  @Test("A file is continued with its last byte", arguments: [10, nil])
  func continued(length: Int?) throws {
    try leave("0123", length: length)

    let partial = try #require(try open())
    let state = try #require(try partial.makeState())

    expectEqual(state.position, 3)
    expectEqual(partial.size, 3)
    #expect(state.validator == Film.tag && state.origin == "http://example.com" && state.total == length)
    partial.discard()
    expectEqual(file.kept, [])
  }

  @Test("A file with fewer than two bytes begins again", arguments: ["", "0"])
  func short(text: String) throws {
    try leave(text)
    #expect(try open()?.makeState() == nil)
  }

  @Test("A file that is longer than its record begins again")
  func long() throws {
    try leave("0123456789")
    try Data("0123456789a".utf8).write(to: path("partial"))
    #expect(try open()?.makeState() == nil)
  }

  @Test("A file whose record is damaged or missing begins again", arguments: ["", "{", "{\"length\": 10}", nil])
  func damaged(record: String?) throws {
    try leave("0123")
    if let record {
      try Data(record.utf8).write(to: path("json"))
    } else {
      try FileManager.default.removeItem(at: path("json"))
    }

    let partial = try #require(try open())
    #expect(try partial.makeState() == nil)
    partial.keep()
    #expect(record == nil ? file.kept == [] : true)
  }

  @Test("A new body removes the bytes and the record of the old one")
  func restarted() throws {
    try leave("0123")
    let partial = try #require(try open())
    try partial.restart(ResumeState(validator: "\"v2\"", origin: nil, total: nil, position: 0))
    partial.keep()

    expectEqual(file.kept, [])
  }

  @Test("A locked file is not opened again")
  func locked() throws {
    let first = try #require(try open())
    try first.append(Data("0123".utf8))

    #expect(try open() == nil)
    #expect(try open("http://example.com/film?id=2") != nil)
    try first.commit()
    expectEqual(text, "0123")
    try expectEqual(open()?.size, 0)
  }

  @Test("A body without a validator removes the record of the old one")
  func withoutValidator() throws {
    try leave("0123")
    let partial = try #require(try open())
    let response = HTTPResponse(to: try HTTPRequest("http://example.com/film"), status: .ok)
    try partial.restart(ResumeState(response))
    try partial.append(Data("abcd".utf8))
    partial.keep()

    expectEqual(file.kept, [])
  }

  @Test("A file that was renamed or removed before it was locked has lost its name")
  func renamed() throws {
    let name = try file.folder.write("0123", to: "a")
    let handle = try FileHandle(forReadingFrom: name)
    #expect(BodyFile.isNamed(handle.fileDescriptor, name))

    try FileManager.default.moveItem(at: name, to: file.folder.file("b"))
    #expect(!BodyFile.isNamed(handle.fileDescriptor, name))
    _ = try file.folder.write("0123", to: "a")
    #expect(!BodyFile.isNamed(handle.fileDescriptor, name))
  }

  @Test("The names of the files have no part of the URL, and other users cannot read the directory")
  func secrets() throws {
    let partial = try #require(try open("http://example.com/\(sentinel)?token=\(sentinel)"))
    try partial.restart(Self.state())
    try partial.append(Data("0123".utf8))
    partial.keep()

    try expectEqual(names().count, 2)
    #expect(try names().allSatisfy { !$0.contains(sentinel) })
    #expect(try !String(contentsOf: path("json"), encoding: .utf8).contains(sentinel))
    let attributes = try FileManager.default.attributesOfItem(atPath: file.directory.path)
    expectEqual(attributes[.posixPermissions] as? Int, 0o700)
  }

  @Test("All files are removed, except locked ones")
  func removed() throws {
    try leave("0123")
    try Data().write(to: file.directory.appendingPathComponent("00.json"))
    let other = try #require(try open("http://example.com/other"))

    try PartialFile.removeAll(in: file.directory)
    expectEqual(file.kept, [".partial"])
    other.discard()

    try PartialFile.removeAll(in: file.directory)
    try PartialFile.removeAll(in: file.folder.file("missing"))
    expectEqual(file.kept, [])
  }

  @Test("A directory that cannot be used is an error without its path")
  func unusable() throws {
    let occupied = try file.folder.write("a file", to: sentinel)
    let directories = [
      occupied, occupied.appendingPathComponent("a"), try #require(URL(string: "http://a/\(sentinel)")),
    ]
    for directory in directories {
      let error = #expect(throws: HTTPError.self) {
        try PartialFile(of: HTTPRequest("http://a/"), in: directory, for: file.folder.file("film"))
      }
      expectEqual(error?.code, .unwritableBody)
      expectEqual(error.map { !"\($0)".contains(sentinel) }, true)
    }
  }

  /// A directory on another volume than the temporary directory.
  static let otherVolume: URL? = {
    let (one, other) = (FileManager.default.temporaryDirectory.path, "/dev/shm")
    let volumes = [one, other].map { try? FileManager.default.attributesOfItem(atPath: $0)[.systemNumber] as? Int }
    return volumes[1] != nil && volumes[0] != volumes[1]
      ? URL(fileURLWithPath: other).appendingPathComponent("FutureTree-\(UUID())") : nil
  }()

  @Test("A file on another volume is copied", .enabled(if: otherVolume != nil))
  func copied() throws {
    let directory = try #require(Self.otherVolume)
    defer { try? FileManager.default.removeItem(at: directory) }
    let destination = try file.folder.write("old", to: "film")
    let partial = try #require(try PartialFile(of: HTTPRequest("http://a/"), in: directory, for: destination))
    let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try partial.append(bytes)

    try partial.commit()

    try expectEqual(Data(contentsOf: destination), bytes)
    expectEqual(file.folder.names, ["film"])
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: directory.path), [])
  }
}

// MARK: - Loads at the same time, and resets

extension PartialFileTests {
  @Test("Two loads of one URL are independent")
  func twoLoads() async throws {
    let film = file.newRun()
    let whole = film.whole()
    let load = try file.load(in: film)
    await whole.sendNext("0123")
    film.mock.on("/film", .text("another"))

    let second = try await file.load(in: film).value

    expectEqual(second.bodySize, 7)
    expectEqual(text, "another")
    whole.send("456789")
    whole.finish()
    try await expectEqual(load.value.bodySize, 10)
    expectEqual(text, "0123456789")
  }

  @Test("A reset removes the files when the loads have ended, and the next load begins again")
  func reset() async throws {
    try await file.loseConnection(after: "0123")
    let film = file.newRun()
    let part = film.part("3-9/10")
    let load = try file.load(in: film)
    await part.sendNext("345")
    while !part.isAwaited { await Task.yield() }

    let reset = (film.resume --> film.mock).reset()
    #expect(!reset.isCompleted)
    while part.cancelRequest == nil { await Task.yield() }
    part.completeCancelled()
    try await #expect(reset.value == ())

    expectEqual(file.kept, [])
    await expectEqual(load.outcome.text, "cancelled")
    let whole = film.whole()
    let next = try file.load(in: film)
    await whole.sendNext("0123456789")
    whole.finish()
    _ = try await next.value
    expectEqual(film.ranges.last, "-")
  }

  @Test("A reset that cannot remove the files fails")
  func failedReset() async throws {
    let film = file.newRun()
    let foreign = file.directory.appendingPathComponent("\(sentinel).partial")
    try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: true)

    let outcome = await (film.resume --> film.mock).reset().outcome

    let error = #expect(throws: ResetFailed.self) { try outcome.get() }
    expectEqual(error?.errors.map { "\($0)".contains("directory") }, [true])
    expectEqual(error?.errors.map { "\($0)".contains(sentinel) }, [false])
  }
}
