import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: ResumeUploads, records of an earlier run") struct UploadRecordTests {
  @Test("A later run continues, and its record has no secrets", arguments: [UploadProtocol.tus, .draft])
  func continues(uploadProtocol: UploadProtocol) async throws {
    let runs = try UploadRuns(uploadProtocol)
    runs.server.withLock { $0.faults = uploadProtocol == .tus ? [.none, .cut(4)] : [.cut(4)] }
    let secret = { @Sendable (request: inout HTTPRequest) throws in
      try request.setHeader("Authorization", "Bearer secret")
      request.target = .url(try HTTPURL("http://example.com/films?token=secret"))
    }
    _ = try await runs.run(.immediately(attempts: 1)).load(configure: secret).outcome
    let file = runs.directory.appendingPathComponent(try #require(runs.records.first))
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    expectEqual(attributes[.posixPermissions] as? NSNumber, 0o600)
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.contains("uploads\\/1") && !text.contains("secret"))

    let run = runs.run()
    _ = try await run.load(configure: secret).value
    expectEqual(run.requests, ["HEAD /uploads/1", "PATCH /uploads/1 4"])
    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(runs.records, [])
  }

  @Test("A file that has changed is uploaded from the beginning", arguments: ["abcdefghij", "abc"])
  func changed(text: String) async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    _ = try runs.folder.write(text, to: "film")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceReferenceDate: 1)], ofItemAtPath: runs.folder.file("film").path)
    let run = runs.run()
    _ = try await run.load().value

    expectEqual(run.requests, ["POST /films", "PATCH /uploads/2 0"])
    expectEqual(runs.received, ["0123", text])
    expectEqual(runs.records, [])
  }

  @Test("Another request does not continue the upload")
  func otherRequest() async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    let changes: [@Sendable (inout HTTPRequest) throws -> Void] = [
      { $0.target = .url(try HTTPURL("http://example.com/films?2")) },
      { try $0.setHeader("Upload-Metadata", "name Mg==") },
      { $0.body = .file(runs.folder.file("film"), contentType: "text/plain") },
      { $0.body = .file(try runs.folder.write(UploadRuns.film, to: "copy"), contentType: "video/mp4") },
      { $0.body = .data(Data(UploadRuns.film.utf8), contentType: "video/mp4") },
    ]
    for change in changes {
      let run = runs.run()
      _ = try await run.load(configure: change).value
      expectEqual(run.requests.first, "POST /films")
    }
    expectEqual(runs.records.count, 1)
  }

  @Test("A record that was cut, changed or renamed is ignored", arguments: [0, 1, 2])
  func damaged(kind: Int) async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    let file = runs.directory.appendingPathComponent(try #require(runs.records.first))
    let content = try Data(contentsOf: file)
    let handle = try FileHandle(forWritingTo: file)
    if kind == 0 { try handle.truncate(atOffset: 20) }
    if kind == 1 { try handle.write(contentsOf: content.reversed()) }
    if kind == 2 {
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: content.unsealed(as: "FutureTree upload 1", name: "x") ?? Data("x".utf8))
    }
    let run = runs.run()
    _ = try await run.load().value

    expectEqual(run.requests, ["POST /films", "PATCH /uploads/2 0"])
    expectEqual(runs.records, [])
  }

  @Test("The second of two loads at the same time has no record")
  func twoLoads() async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    let (first, second) = (runs.run(), runs.run())
    let held = first.mock.hold(.method(.head))
    let load = try first.load()
    _ = try await second.load().value

    expectEqual(second.requests, ["POST /films", "PATCH /uploads/2 0"])
    expectEqual(runs.records.count, 1)
    held.answer(status: .ok, headers: try HTTPHeaders([("Upload-Offset", "4")]))
    _ = try await load.value
    expectEqual(runs.received, [UploadRuns.film, UploadRuns.film])
    expectEqual(runs.records, [])
  }

  @Test("A refused request for the offset is passed on, and the record stays", arguments: [401, 403, 412])
  func refused(status: Int) async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    runs.server.withLock { $0.faults = [.status(status)] }

    await expectEqual(try runs.run().load().value.status.code, status)
    expectEqual(runs.records.count, 1)
  }

  @Test("A directory that cannot be used fails the load before a request is sent")
  func unusable() async throws {
    let runs = try UploadRuns(.tus)
    _ = try runs.folder.write("a file", to: "uploads")
    let run = runs.run()

    await expectEqual(try run.load().outcome.code, .storeFailed)
    expectEqual(run.requests, [])
  }

  @Test("A record that others can read, or that is a symbolic link, is refused", arguments: [true, false])
  func unsafe(isLink: Bool) async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 4)
    let file = runs.directory.appendingPathComponent(try #require(runs.records.first))
    if isLink {
      try FileManager.default.moveItem(at: file, to: runs.folder.file("moved"))
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: runs.folder.file("moved"))
    } else {
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    }

    await expectEqual(try runs.run().load().outcome.code, .storeFailed)
  }

  @Test("A request that has only a path is refused")
  func missingHost() async throws {
    let runs = try UploadRuns(.tus)
    let run = runs.run()

    await expectEqual(
      try run.load { $0.target = .path(try HTTPPath("/films")) }.outcome.code, .missingHost)
    expectEqual(run.requests, [])
  }
}
