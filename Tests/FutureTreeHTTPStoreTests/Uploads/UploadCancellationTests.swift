import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Layers: ResumeUploads, cancellation and resets") struct UploadCancellationTests {
  /// A position in the life of an upload.
  enum Position: CaseIterable, Sendable {
    case create, append, ask, pause
  }

  /// A load that is held at a position.
  struct Held {
    let runs: UploadRuns
    let run: UploadRun
    let load: Future<HTTPResponse>
    /// `nil` in a pause.
    let answer: HeldAnswer?
  }

  /// Brings a load to a position. From the second request on, the server has four bytes.
  private func go(to position: Position, _ uploadProtocol: UploadProtocol) async throws -> Held {
    let runs = try UploadRuns(uploadProtocol)
    if position != .create { try await runs.interrupt(after: 4) }
    let run = runs.run(.constant(.seconds(1), attempts: 3))
    let method: HTTPMethod? =
      switch position {
      case .create: .post
      case .append: .patch
      case .ask: .head
      case .pause: nil
      }
    if method == nil { runs.server.withLock { $0.faults = [.lost] } }
    let answer = method.map { run.mock.hold(.method($0)) }
    let load = try run.load()
    expectEqual(answer?.request == nil, method == nil)
    expectEqual(run.layer.waitingCount, method == nil ? 1 : 0)
    return Held(runs: runs, run: run, load: load, answer: answer)
  }

  /// Continues the upload in a later run.
  private func finish(_ held: Held, at position: Position) async throws {
    let isNew = position == .create
    expectEqual(held.runs.records.count, isNew ? 0 : 1)
    expectEqual(held.run.layer.liveCount, 0)
    expectEqual(held.run.clock.timerCount, 0)
    let last = held.runs.run()
    _ = try await last.load().value

    expectEqual(held.runs.received, [UploadRuns.film])
    if !isNew { expectEqual(last.requests, ["HEAD /uploads/1", "PATCH /uploads/1 4"]) }
    expectEqual(held.runs.records, [])
  }

  @Test(
    "A cancelled load completes when its request has ended, and the next load continues",
    arguments: Position.allCases, [UploadProtocol.tus, .draft])
  func cancelled(position: Position, uploadProtocol: UploadProtocol) async throws {
    let held = try await go(to: position, uploadProtocol)
    held.load.cancel(reason: "the program quits")

    if let answer = held.answer {
      expectEqual(answer.cancelRequest?.reason.message, "the program quits")
      #expect(!held.load.isCompleted)
      answer.complete(.cancelled)
    }
    expectEqual(held.load.text, "cancelled")
    try await finish(held, at: position)
  }

  @Test("No request follows one that succeeded after its cancellation", arguments: [Position.create, .ask])
  func lateSuccess(position: Position) async throws {
    let held = try await go(to: position, .tus)
    held.load.cancel()
    let fields = position == .create ? [("Location", "/uploads/9")] : [("Upload-Offset", "4")]
    held.answer?.answer(status: HTTPStatus(201), headers: try HTTPHeaders(NameValuePairs(fields)))

    expectEqual(held.load.text, "cancelled")
    expectEqual(held.run.requests.count, 1)
    expectEqual(held.runs.records.count, 1)
  }

  @Test(
    "A forced load completes at once, and the next load continues",
    arguments: Position.allCases, [UploadProtocol.tus, .draft])
  func forced(position: Position, uploadProtocol: UploadProtocol) async throws {
    let held = try await go(to: position, uploadProtocol)
    held.load.cancel(.forceImmediately)

    expectEqual(held.load.text, "cancelled")
    if let answer = held.answer {
      #expect(answer.cancelRequest != nil)
      expectEqual(answer.cancelRequest?.options, [])
    }
    try await finish(held, at: position)
    // A late end of the forced request changes nothing.
    held.answer?.answer(status: HTTPStatus(204), headers: try HTTPHeaders([("Upload-Offset", "10")]))
    expectEqual(held.runs.records, [])
  }

  @Test("A detached load completes at once, and sends nothing more", arguments: Position.allCases)
  func detached(position: Position) async throws {
    let held = try await go(to: position, .tus)
    held.load.cancel(.doNotForwardRequest)

    expectEqual(held.load.text, "cancelled")
    #expect(held.answer?.cancelRequest == nil)
    try await finish(held, at: position)
  }

  @Test("A load whose last token is dropped with its bag is cancelled", arguments: Position.allCases)
  func dropped(position: Position) async throws {
    let held = try await go(to: position, .tus)
    var bag: CancelBag? = CancelBag()
    if let bag { held.load.store(in: bag) }
    bag = nil

    if let answer = held.answer {
      #expect(answer.cancelRequest != nil)
      answer.complete(.cancelled)
    }
    expectEqual(held.load.text, "cancelled")
    try await finish(held, at: position)
  }

  @Test(
    "A draft that is cancelled after its announcement continues",
    arguments: [CancellationOptions(), .forceImmediately])
  func announced(options: CancellationOptions) async throws {
    let runs = try UploadRuns(.draft)
    let run = runs.run()
    let held = run.mock.hold("/films")
    let load = try run.load()
    let request = try #require(held.request)
    runs.server.withLock { $0.uploads["/uploads/1"] = UploadServer.Upload(bytes: Data("0123".utf8), length: 10) }
    let fields = [("Location", "/uploads/1"), ("Upload-Draft-Interop-Version", "8")]
    request.onInterimResponse?(
      HTTPResponse(to: request, status: HTTPStatus(104), headers: try HTTPHeaders(NameValuePairs(fields))))
    expectEqual(runs.records.count, 1)
    load.cancel(options)
    held.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    let last = runs.run()
    _ = try await last.load().value
    expectEqual(last.requests, ["HEAD /uploads/1", "PATCH /uploads/1 4"])
  }

  @Test("The delay is the one that the server asks for, unless it is too long", arguments: ["5", "121"])
  func retryAfter(seconds: String) async throws {
    let runs = try UploadRuns(.tus)
    let run = runs.run()
    let busy = try HTTPHeaders([("Retry-After", seconds)])
    run.mock.on("/films", .respond(status: .serviceUnavailable, headers: busy))
    let load = try run.load()

    guard seconds == "5" else { return expectEqual(load.status, "503") }
    run.clock.advance(by: .seconds(4))
    expectEqual(load.text, "pending")
    run.clock.advance(by: .seconds(1))
    try await expectEqual(load.value.status.code, 204)
  }

  @Test("A deadline that the next attempt cannot meet ends the load, and the record stays")
  func deadline() async throws {
    let runs = try UploadRuns(.tus, .none, .cut(4))
    let run = runs.run(.constant(.seconds(2)))
    let load = try run.load { $0.deadline = .after(.seconds(1), clock: run.clock) }

    await expectEqual(load.outcome.code, .deadlineExceeded)
    expectEqual(runs.records.count, 1)
  }

  @Test("A reset ends the pauses, and removes the records")
  func reset() async throws {
    let held = try await go(to: .pause, .tus)

    await expectEqual(held.run.api.reset().outcome.text, "success")
    expectEqual(held.load.text, "cancelled")
    expectEqual(held.runs.records, [])
    expectEqual(held.run.clock.timerCount, 0)
  }

  @Test("A reset waits for the request in flight, and no request follows it", arguments: [Position.create, .ask])
  func resetInFlight(position: Position) async throws {
    let held = try await go(to: position, .tus)
    // The reset of another transport: that of the mock would cancel its load.
    let reset = (held.run.layer --> MockLoader()).reset()
    #expect(!reset.isCompleted)
    let fields = position == .create ? [("Location", "/uploads/9")] : [("Upload-Offset", "4")]
    held.answer?.answer(status: HTTPStatus(201), headers: try HTTPHeaders(NameValuePairs(fields)))

    expectEqual(held.load.text, "cancelled")
    await expectEqual(reset.outcome.text, "success")
    expectEqual(held.run.requests.count, 1)
    expectEqual(held.runs.records, [])
  }

  @Test("An Autocancel before the layer ends the load in every position", arguments: Position.allCases)
  func autocancelled(position: Position) async throws {
    let runs = try UploadRuns(.tus)
    if position != .create { try await runs.interrupt(after: 4) }
    if position == .pause { runs.server.withLock { $0.faults = [.lost] } }
    let run = runs.run(.constant(.seconds(1)), after: Autocancel(drainTimeout: nil))
    let methods: [Position: HTTPMethod] = [.create: .post, .append: .patch, .ask: .head]
    let held = methods[position].map { run.mock.hold(.method($0)) }
    let load = try run.load()
    let reset = run.api.reset()
    held?.complete(.cancelled)

    await expectEqual(reset.outcome.text, "success")
    expectEqual(load.text, "cancelled")
    expectEqual(runs.records, [])
  }
}
