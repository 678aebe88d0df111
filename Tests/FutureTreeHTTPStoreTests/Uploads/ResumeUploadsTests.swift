import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: ResumeUploads") struct ResumeUploadsTests {
  @Test("With tus, an upload is created without the body, and its parts have the media type of the protocol")
  func tus() async throws {
    let runs = try UploadRuns(.tus)
    let run = runs.run()
    let response = try await run.load {
      try $0.setHeader("Upload-Metadata", "name ZmlsbQ==")
      try $0.setHeader("Content-Language", "en")
      try $0.setHeader("Idempotency-Key", "k")
      try $0.setHeader("X-Trace", "1")
    }.value

    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(run.requests, ["POST /films", "PATCH /uploads/1 0"])
    let (creation, part) = (run.mock.requests[0], run.mock.requests[1])
    expectEqual(creation.headers["Upload-Length"], "10")
    expectEqual(creation.headers["Upload-Metadata"], "name ZmlsbQ==")
    #expect(creation.body.isEmpty)
    expectEqual(part.headers.map(\.name), ["X-Trace", "Tus-Resumable", "Upload-Offset"])
    expectEqual(part.body.contentType, "application/offset+octet-stream")
    expectEqual(response.status.code, 204)
    expectEqual(response.request.url?.path, "/uploads/1")
    expectEqual(runs.records, [])
    expectEqual(run.layer.liveCount, 0)
  }

  @Test("With the draft, the first request is that of the caller with three more fields")
  func draft() async throws {
    let runs = try UploadRuns(.draft)
    let run = runs.run()
    let response = try await run.load { try $0.setHeader("X-Trace", "1") }.value

    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(run.requests, ["POST /films"])
    let request = run.mock.requests[0]
    expectEqual(
      request.headers.map { "\($0.name): \($0.value)" },
      ["X-Trace: 1", "Upload-Draft-Interop-Version: 8", "Upload-Length: 10", "Upload-Complete: ?1"])
    expectEqual(request.body.contentType, "video/mp4")
    expectEqual(request.body.contentLength, 10)
    expectEqual(response.status.code, 201)
    expectEqual(runs.records, [])
  }

  @Test("A server without support for the draft answers the first request", arguments: [200, 201, 400, 503])
  func unsupported(status: Int) async throws {
    let runs = try UploadRuns(.draft, .status(status))
    let run = runs.run()

    await expectEqual(try run.load().value.status.code, status)
    expectEqual(run.requests, ["POST /films"])
    expectEqual(runs.records, [])
  }

  struct Interruption: Sendable {
    let faults: [UploadServer.Fault]
    let requests: [String]
    var method = HTTPMethod.post
  }

  static let tusInterruptions = [
    Interruption(faults: [.lost], requests: ["POST /films", "POST /films", "PATCH /uploads/1 0"]),
    Interruption(faults: [.status(503)], requests: ["POST /films", "POST /films", "PATCH /uploads/1 0"]),
    Interruption(
      faults: [.none, .cut(4)],
      requests: ["POST /films", "PATCH /uploads/1 0", "HEAD /uploads/1", "PATCH /uploads/1 4"]),
    Interruption(
      faults: [.none, .cut(4), .lost, .status(500), .none, .cut(3)],
      requests: [
        "POST /films", "PATCH /uploads/1 0", "HEAD /uploads/1", "HEAD /uploads/1", "HEAD /uploads/1",
        "PATCH /uploads/1 4", "HEAD /uploads/1", "PATCH /uploads/1 7",
      ]),
    Interruption(faults: [.none, .unanswered], requests: ["POST /films", "PATCH /uploads/1 0", "HEAD /uploads/1"]),
    Interruption(
      faults: [.none, .status(409)],
      requests: ["POST /films", "PATCH /uploads/1 0", "HEAD /uploads/1", "PATCH /uploads/1 0"]),
    Interruption(
      faults: [.none, .cut(2), .status(423)],
      requests: ["POST /films", "PATCH /uploads/1 0", "HEAD /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1 2"]),
    Interruption(
      faults: [.none, .short(4), .short(5)],
      requests: ["POST /films", "PATCH /uploads/1 0", "PATCH /uploads/1 4", "PATCH /uploads/1 9"]),
  ]

  static let draftInterruptions = [
    Interruption(faults: [.lost], requests: ["PUT /films", "PUT /films"], method: .put),
    Interruption(faults: [.cut(4)], requests: ["POST /films", "HEAD /uploads/1", "PATCH /uploads/1 4"]),
    Interruption(faults: [.short(4)], requests: ["POST /films", "HEAD /uploads/1", "PATCH /uploads/1 4"]),
    Interruption(
      faults: [.cut(4), .lost, .none, .cut(3)],
      requests: [
        "POST /films", "HEAD /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1 4", "HEAD /uploads/1",
        "PATCH /uploads/1 7",
      ]),
    Interruption(faults: [.unanswered], requests: ["POST /films", "HEAD /uploads/1"]),
    Interruption(
      faults: [.cut(4), .none, .unanswered],
      requests: ["POST /films", "HEAD /uploads/1", "PATCH /uploads/1 4", "HEAD /uploads/1"]),
    Interruption(
      faults: [.cut(10)], requests: ["POST /films", "HEAD /uploads/1"]),
    Interruption(
      faults: [.cut(4), .none, .short(2)],
      requests: ["POST /films", "HEAD /uploads/1", "PATCH /uploads/1 4", "HEAD /uploads/1", "PATCH /uploads/1 6"]),
  ]

  @Test("An upload by tus continues after each failure", arguments: tusInterruptions)
  func tusContinues(_ interruption: Interruption) async throws { try await continues(.tus, interruption) }

  @Test("An upload by the draft continues after each failure", arguments: draftInterruptions)
  func draftContinues(_ interruption: Interruption) async throws { try await continues(.draft, interruption) }

  private func continues(_ uploadProtocol: UploadProtocol, _ interruption: Interruption) async throws {
    let runs = try UploadRuns(uploadProtocol)
    runs.server.withLock { $0.faults = interruption.faults }
    let run = runs.run()
    let response = try await run.load(interruption.method).value

    #expect(response.status.isSuccess)
    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(run.requests, interruption.requests)
    expectEqual(runs.records, [])
  }

  @Test("Data and streams continue as well", arguments: [UploadProtocol.tus, .draft], [true, false])
  func otherBodies(uploadProtocol: UploadProtocol, isStream: Bool) async throws {
    let data = Data(UploadRuns.film.utf8)
    let body: HTTPBody = isStream ? .stream(length: 10) { HTTPBodyReader(InputStream(data: data)) } : .data(data)
    let runs = try UploadRuns(uploadProtocol, uploadProtocol == .tus ? .none : .cut(4), .cut(4), .none, .cut(1))
    _ = try await runs.run().load { $0.body = body }.value

    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(runs.records, [])
  }

  @Test("The strategy limits the attempts without a further byte")
  func attempts() async throws {
    let runs = try UploadRuns(.tus, .none, .cut(2), .none, .cut(1), .lost, .lost, .lost, .lost)
    let run = runs.run(.immediately(attempts: 4))

    await expectEqual(try run.load().outcome.code, .connectionLost)
    expectEqual(runs.received, ["012"])
    expectEqual(run.requests.count, 7)
    expectEqual(runs.records.count, 1)
  }

  @Test("The last response is the outcome if the strategy gives up")
  func lastResponse() async throws {
    let runs = try UploadRuns(.tus, .none, .status(503), .status(503))

    await expectEqual(try runs.run(.immediately(attempts: 2)).load().value.status.code, 503)
    expectEqual(runs.records.count, 1)
  }

  @Test("A POST of the draft that was not announced is not repeated, and no record is kept")
  func unannounced() async throws {
    let runs = try UploadRuns(.draft, .cut(4))
    runs.server.withLock { $0.announces = false }
    let run = runs.run()

    await expectEqual(try run.load().outcome.code, .connectionLost)
    expectEqual(run.requests, ["POST /films"])
    expectEqual(runs.records, [])
  }

  @Test("Without interim responses, the draft's upload is that of the final response")
  func finalLocation() async throws {
    let runs = try UploadRuns(.draft, .short(4))
    runs.server.withLock { $0.announces = false }
    _ = try await runs.run().load().value

    expectEqual(runs.received, [UploadRuns.film])
  }

  @Test("No part is larger than the draft's server allows, and only the last one completes the upload")
  func partLimit() async throws {
    let runs = try UploadRuns(.draft, .cut(1))
    runs.server.withLock { $0.partLimit = 4 }
    let run = runs.run()
    let response = try await run.load().value

    expectEqual(runs.received, [UploadRuns.film])
    let parts = run.mock.requests.filter { $0.method == .patch }
    expectEqual(parts.map { $0.headers["Upload-Offset"] }, ["1", "5", "9"])
    expectEqual(parts.map { $0.headers["Upload-Complete"] }, ["?0", "?0", "?1"])
    expectEqual(response.headers["Upload-Complete"], "?1")
  }

  @Test("An interim response of another version of the draft is ignored, and the caller receives it")
  func otherVersion() async throws {
    let runs = try UploadRuns(.draft)
    let run = runs.run()
    let held = run.mock.hold("/films")
    let seen = Recorder()
    let load = try run.load { $0.onInterimResponse = { seen("\($0.status.code)") } }
    let request = try #require(held.request)
    let fields = [("Location", "/uploads/1"), ("Upload-Draft-Interop-Version", "7")]
    request.onInterimResponse?(
      HTTPResponse(to: request, status: HTTPStatus(104), headers: try HTTPHeaders(NameValuePairs(fields))))
    held.complete(.failure(lost))

    await expectEqual(load.outcome.code, .connectionLost)
    expectEqual(seen.entries, ["104"])
    expectEqual(run.requests, ["POST /films"])
  }

  @Test("An error of the draft's server about the whole body is the response of the load")
  func refusedBody() async throws {
    let runs = try UploadRuns(.draft, .cut(4))
    let run = runs.run()
    let complete = try HTTPHeaders([("Upload-Complete", "?1")])
    run.mock.on(.method(.patch), .respond(status: HTTPStatus(500), headers: complete))

    await expectEqual(try run.load().value.status.code, 500)
    expectEqual(runs.records, [])
  }

  @Test("An upload that the server has lost begins again, once", arguments: [404, 410])
  func gone(status: Int) async throws {
    let runs = try UploadRuns(.tus, .none, .cut(4), .status(status))
    let run = runs.run()
    _ = try await run.load().value

    expectEqual(runs.received, ["0123", UploadRuns.film])
    expectEqual(run.requests.suffix(2), ["POST /films", "PATCH /uploads/2 0"])

    runs.server.withLock { $0.faults = [.none, .status(status), .none, .status(status)] }
    await expectEqual(try runs.run().load().outcome.code, .unacceptableStatus)
    expectEqual(runs.records, [])
  }

  @Test("The draft begins again only if the request can be repeated", arguments: [HTTPMethod.post, .put])
  func goneDraft(method: HTTPMethod) async throws {
    let runs = try UploadRuns(.draft, .cut(4), .status(404))
    let load = try runs.run().load(method)

    await expectEqual(load.outcome.text, method == .put ? "success" : "unacceptableStatus")
    expectEqual(runs.received, method == .put ? ["0123", UploadRuns.film] : ["0123"])
    expectEqual(runs.records, [])
  }

  @Test(
    "An invalid response to the request for the offset ends the upload",
    arguments: [
      .without("Upload-Offset"), .field("Upload-Offset", "11"), .field("Upload-Offset", "-1"),
      .field("Upload-Offset", "4, 4"), .field("Upload-Offset", ""), .field("Upload-Offset", "99999999999999999999"),
      .field("Upload-Length", "11"),
    ] as [UploadServer.Fault], [UploadProtocol.tus, .draft])
  func invalidOffset(_ fault: UploadServer.Fault, _ uploadProtocol: UploadProtocol) async throws {
    let runs = try UploadRuns(uploadProtocol)
    try await runs.interrupt(after: 4)
    runs.server.withLock { $0.faults = [fault] }
    let run = runs.run()

    await expectEqual(try run.load().outcome.code, .invalidResponse)
    expectEqual(run.requests, ["HEAD /uploads/1"])
    expectEqual(runs.records, [])
  }

  @Test(
    "An invalid response to a part ends the upload",
    arguments: [.without("Upload-Offset"), .field("Upload-Offset", "11"), .field("Upload-Offset", "x")]
      as [UploadServer.Fault])
  func invalidEnd(_ fault: UploadServer.Fault) async throws {
    let runs = try UploadRuns(.tus, .none, fault)

    await expectEqual(try runs.run().load().outcome.code, .invalidResponse)
    expectEqual(runs.records, [])
  }

  @Test("An upload that the draft's server completed early is not a success")
  func earlyEnd() async throws {
    let runs = try UploadRuns(.draft, .cut(4), .field("Upload-Complete", "?1"))

    await expectEqual(try runs.run().load().outcome.code, .invalidResponse)
  }

  @Test("A server that accepts no bytes ends the upload after five parts", arguments: [UploadProtocol.tus, .draft])
  func stalled(uploadProtocol: UploadProtocol) async throws {
    let runs = try UploadRuns(uploadProtocol, .short(0))
    let run = runs.run(RetryStrategy { _ in .zero })
    let fields = uploadProtocol == .tus ? [("Upload-Offset", "0")] : [("Upload-Complete", "?0")]
    run.mock.on(
      .method(.patch), .respond(status: .noContent, headers: try HTTPHeaders(NameValuePairs(fields))).forever())

    await expectEqual(try run.load().outcome.code, .invalidResponse)
    expectEqual(run.mock.requests.count { $0.method == .patch }, 5)
  }

  @Test("An offset that decreases is followed, but does not start the count of attempts again")
  func backwards() async throws {
    let runs = try UploadRuns(.tus, .none, .cut(8))
    let run = runs.run(.immediately(attempts: 3))
    let lower = { @Sendable (offset: Int) in
      runs.server.withLock { $0.uploads["/uploads/1"]?.bytes = Data(UploadRuns.film.utf8.prefix(offset)) }
    }
    run.mock.on(
      .method(.head),
      .make { request in
        lower(2)
        return HTTPResponse(to: request, status: .ok, headers: try HTTPHeaders([("Upload-Offset", "2")]))
      })
    _ = try await run.load().value

    expectEqual(runs.received, [UploadRuns.film])
    expectEqual(run.requests.last, "PATCH /uploads/1 2")

    let endless = runs.run(.immediately(attempts: 3))
    runs.server.withLock { $0.faults = [.none, .cut(8)] }
    endless.mock.on(
      .method(.head),
      .make { HTTPResponse(to: $0, status: .ok, headers: try HTTPHeaders([("Upload-Offset", "2")])) }.forever())
    endless.mock.on("/uploads/2" && .method(.patch), .fail(lost).forever())
    await expectEqual(try endless.load().outcome.code, .connectionLost)
    // The first part, whose end is unknown, and three attempts from the offset 2.
    expectEqual(endless.mock.requests.count { $0.method == .patch }, 4)
  }

  @Test("An empty body is an upload", arguments: [UploadProtocol.tus, .draft])
  func empty(uploadProtocol: UploadProtocol) async throws {
    let runs = try UploadRuns(uploadProtocol)
    let run = runs.run()
    let response = try await run.load { $0.body = .data(Data()) }.value

    expectEqual(run.requests, ["POST /films"])
    expectEqual(response.status.code, 201)
  }

  @Test("Requests that are no upload are forwarded unchanged")
  func unchanged() async throws {
    let runs = try UploadRuns(.tus)
    let changes: [@Sendable (inout HTTPRequest) throws -> Void] = [
      { $0.method = .put }, { $0.body = .empty }, { $0.body = .stream { HTTPBodyReader { _ in Data() } } },
      { $0.body = .stream(length: 0, isReplayable: false) { HTTPBodyReader { _ in Data() } } },
      { $0.body = .file(runs.folder.file("missing")) }, { try $0.setHeader("Upload-Offset", "0") },
      { try $0.setHeader("Content-Encoding", "gzip") },
    ]
    for change in changes {
      let run = runs.run()
      let held = run.mock.hold()
      let load = try run.load(configure: change)
      expectEqual(held.request?.headers.contains("Tus-Resumable"), false)
      held.answer(status: .ok)
      try await expectEqual(load.value.status, .ok)
    }
    expectEqual(runs.records, [])
  }

  @Test("A file that changes during a load fails the load")
  func changesDuringLoad() async throws {
    let runs = try UploadRuns(.tus)
    let run = runs.run()
    let held = run.mock.hold("/films")
    let load = try run.load()
    _ = try runs.folder.write("another film", to: "film")
    held.answer(status: HTTPStatus(201), headers: try HTTPHeaders([("Location", "/uploads/1")]))

    await expectEqual(load.outcome.code, .wrongBodyLength)
    expectEqual(runs.received, [])
  }

  @Test("Each report of the progress counts the bytes of the whole upload", arguments: [UploadProtocol.tus, .draft])
  func progress(uploadProtocol: UploadProtocol) async throws {
    let runs = try UploadRuns(uploadProtocol)
    try await runs.interrupt(after: 4)
    runs.server.withLock { $0.faults = [.none, .cut(2)] }
    let reports = Recorder()
    _ = try await runs.run().load {
      $0.progress = { reports("\($0.sent.completed)/\($0.sent.total ?? -1)") }
    }.value

    expectEqual(reports.entries, ["4/10", "7/10", "7/10", "8/10", "10/10"])
  }

  @Test("An upload whose response was lost is reported as sent")
  func lostResponse() async throws {
    let runs = try UploadRuns(.tus)
    try await runs.interrupt(after: 10)
    let reports = Recorder()
    _ = try await runs.run().load { $0.progress = { reports("\($0.sent.completed)") } }.value

    expectEqual(reports.entries, ["10"])
  }
}

@Suite("Layers: ResumeUploads, the URL of the upload") struct UploadLocationTests {
  @Test(
    "The URL of the upload can be relative, and credentials stay at the origin of the request",
    arguments: ["/uploads/", "../uploads/", "http://example.com:80/uploads/", "http://other.example.com/uploads/"],
    [UploadProtocol.tus, .draft])
  func credentials(prefix: String, uploadProtocol: UploadProtocol) async throws {
    let isOther = prefix.contains("other")
    let runs = try UploadRuns(uploadProtocol, uploadProtocol == .tus ? .none : .cut(4), .cut(4))
    runs.server.withLock { $0.prefix = prefix }
    let run = runs.run()
    _ = try await run.load {
      try $0.setHeader("Authorization", "Bearer secret")
      try $0.setHeader("X-Key", "secret")
      $0.sensitiveHeaders.insert("X-Key")
      $0.bearerToken = try BearerToken("token")
    }.value

    expectEqual(runs.received, [UploadRuns.film])
    let rest = Array(run.mock.requests.dropFirst())
    #expect(rest.count >= 2)
    for request in rest {
      expectEqual(request.url?.host, isOther ? "other.example.com" : "example.com")
      expectEqual(request.headers["Authorization"], isOther ? nil : "Bearer secret")
      expectEqual(request.headers["X-Key"], isOther ? nil : "secret")
      expectEqual(request.bearerToken == nil, isOther)
    }
  }

  @Test("Credentials stay at the origin of the request in a later run as well")
  func laterRun() async throws {
    let runs = try UploadRuns(.tus)
    runs.server.withLock { $0.prefix = "http://other.example.com/uploads/" }
    try await runs.interrupt(after: 4)
    let run = runs.run()
    _ = try await run.load { try $0.setHeader("Authorization", "Bearer secret") }.value

    expectEqual(run.requests, ["HEAD /uploads/1", "PATCH /uploads/1 4"])
    #expect(run.mock.requests.allSatisfy { !$0.headers.contains("Authorization") })
  }

  @Test(
    "An upload without a valid URL is an error",
    arguments: [.without("Location"), .field("Location", ""), .field("Location", "ftp://example.com/")]
      as [UploadServer.Fault])
  func invalid(_ fault: UploadServer.Fault) async throws {
    let runs = try UploadRuns(.tus, fault)
    let run = runs.run()

    await expectEqual(try run.load().outcome.code, .invalidResponse)
    expectEqual(run.requests, ["POST /films"])
  }

  @Test("An upload never leads from https to http")
  func insecure() async throws {
    let runs = try UploadRuns(.tus, .field("Location", "http://example.com/uploads/1"))
    let run = runs.run()

    await expectEqual(
      try run.load { $0.target = .url(try HTTPURL("https://example.com/films")) }.outcome.code, .insecureRedirect)
    expectEqual(run.requests, ["POST /films"])
  }
}
