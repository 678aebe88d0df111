import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Files of bodies that a process which was killed has left behind.
@Suite("Bodies to a file, leftovers") struct BodyFileTests {
  private let folder: Folder
  private let left = ".FutureTree-1-1.partial"

  init() throws {
    folder = try Folder()
  }

  private func body(to name: String = "body") throws -> BodyFile { try BodyFile(for: folder.file(name)) }

  /// The names of files that are being written.
  private var partial: [String] { folder.names.filter { $0.hasSuffix(".partial") } }

  @Test("The file of a process that was killed is removed when a later body in its directory begins")
  func killed() async throws {
    let path = folder.file("body").path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let body = try BodyFile(for: URL(fileURLWithPath: path))
      try body.append(Data("part".utf8))
      withExtendedLifetime(body) { _ = kill(getpid(), SIGKILL) }
    }
    expectEqual(partial.count, 1)

    let body = try body()
    try body.append(Data("whole".utf8))
    try body.commit()

    expectEqual(folder.names, ["body"])
    expectEqual(folder.text(of: "body"), "whole")
  }

  @Test("The files of other bodies that are being written are kept, also those of other processes")
  func owned() throws {
    _ = try folder.write("other", to: left)
    let descriptor = open(folder.file(left).path, O_RDONLY)
    expectEqual(flock(descriptor, LOCK_EX), 0)
    defer { close(descriptor) }
    let first = try body(to: "first")
    try first.append(Data("first".utf8))

    let second = try body(to: "second")

    expectEqual(partial.count, 3)
    #expect(partial.contains(left))
    try first.commit()
    expectEqual(folder.text(of: "first"), "first")
    second.discard()
    expectEqual(folder.names, [left, "first"].sorted())
  }

  @Test("Files with other names, directories and links are kept")
  func others() throws {
    let names = [
      "film.partial", "FutureTree-1-1.partial", ".FutureTree-1.partial", ".FutureTree-1-.partial",
      ".FutureTree-1-a.partial", ".FutureTree-1-1-1.partial", ".FutureTree-1-1.partial.txt", ".FutureTree-1-1.json",
      String(repeating: "0", count: 64) + ".partial",
    ]
    for name in names { _ = try folder.write("mine", to: name) }
    let (link, directory) = (".FutureTree-2-1.partial", ".FutureTree-3-1.partial")
    try FileManager.default.createSymbolicLink(
      at: folder.file(link), withDestinationURL: folder.file("film.partial"))
    try FileManager.default.createDirectory(at: folder.file(directory), withIntermediateDirectories: false)

    try body().commit()

    expectEqual(folder.names, (names + [link, directory, "body"]).sorted())
  }

  @Test("The files that a process with the same number has left are removed")
  func sameNumber() throws {
    let number = ProcessInfo.processInfo.processIdentifier
    let names = (1...3).map { ".FutureTree-\(number)-\($0).partial" }
    for name in names { _ = try folder.write("left", to: name) }

    try body().commit()

    expectEqual(folder.names, ["body"])
  }
}
