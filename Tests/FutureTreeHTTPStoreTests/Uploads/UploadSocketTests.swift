import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: ResumeUploads on sockets", .onSockets, .timeLimit(.minutes(20))) struct UploadSocketTests {
  private static let film = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

  /// Answers each request by an upload server, and loses every connection that the server loses.
  private static func serve(_ upload: Locked<UploadServer>, on server: LoopbackServer) {
    server.onOthers { request in
      let answer = upload.withLock {
        $0.answer(
          request.method, request.path, { request.values(for: $0).first }, body: Data(request.body))
      }
      let head = { (status: Int, fields: [(String, String)]) in
        "HTTP/1.1 \(status) Status\r\n" + fields.map { "\($0.0): \($0.1)\r\n" }.joined()
      }
      var steps = answer.interim.map { [LoopbackStep.send(head(104, $0) + "\r\n")] } ?? []
      let length = answer.status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n"
      steps.append(answer.isLost ? .close : .send(head(answer.status, answer.fields) + length))
      return .steps(steps)
    }
  }

  @Test("An upload that is cut five times in three runs is whole", arguments: [UploadProtocol.tus, .draft])
  func cut(uploadProtocol: UploadProtocol) async throws {
    #if os(Linux)  // Elsewhere, no transport reports the interim response of the draft.
      let server = try Loopback.server()
      let upload = Locked(UploadServer())
      let folder = try Folder()
      try Self.film.write(to: folder.file("film"))
      Self.serve(upload, on: server)
      upload.withLock {
        $0.faults = uploadProtocol == .tus ? [.none, .cut(50_000)] : [.cut(50_000)]
        $0.faults += [.none, .cut(1), .none, .cut(70_000), .none, .unanswered]
      }
      var request = try HTTPRequest(.post, server.url("/films"))
      request.body = .file(folder.file("film"))
      // The first run has one attempt, the second one two, and the third one as many as it needs.
      for attempts in [1, 2, 1_000] {
        let clock = ManualClock()
        let layer = ResumeUploads(
          uploadProtocol, directory: folder.file("uploads"),
          strategy: attempts == 1_000
            ? .immediately(attempts: attempts)
            : RetryStrategy { _ in attempts == 2 && upload.withLock { $0.faults.count } > 4 ? .zero : nil },
          clock: clock)
        let outcome = await (layer --> SystemLoader(.patient)).load(request).outcome
        expectEqual(outcome.text, attempts == 1_000 ? "success" : "connectionLost")
      }

      expectEqual(upload.value.uploads.map(\.value.bytes), [Self.film])
      #expect(upload.value.faults.isEmpty)
      try expectEqual(FileManager.default.contentsOfDirectory(atPath: folder.file("uploads").path), [])
    #endif
  }

  @Test("A cancelled upload ends its connection, and the next load continues")
  func cancelled() async throws {
    let server = try Loopback.server()
    let upload = Locked(UploadServer())
    let folder = try Folder()
    try Self.film.write(to: folder.file("film"))
    Self.serve(upload, on: server)
    server.on("/uploads/1", method: "PATCH", beginning: .headComplete, [.stopReading, .stall])
    let layer = ResumeUploads(.tus, directory: folder.file("uploads"))
    let api = layer --> SystemLoader(.patient)
    var request = try HTTPRequest(.post, server.url("/films"))
    request.body = .file(folder.file("film"))
    let load = api.load(request)
    _ = try await server.waitUntil { $0.requests.contains { $0.method == "PATCH" } }.value
    load.cancel()

    await expectEqual(load.outcome.text, "cancelled")
    server.on("/uploads/1", method: "PATCH") { request in
      let answer = upload.withLock {
        $0.answer(request.method, request.path, { request.values(for: $0).first }, body: Data(request.body))
      }
      return .status(answer.status, headers: answer.fields)
    }
    try await expectEqual(api.load(request).value.status.code, 204)
    expectEqual(upload.value.uploads.map(\.value.bytes), [Self.film])
    expectEqual(server.requests.map(\.method), ["POST", "PATCH", "HEAD", "PATCH"])
  }
}
