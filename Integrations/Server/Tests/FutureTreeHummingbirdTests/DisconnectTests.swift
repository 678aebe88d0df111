import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import ServerTestSupport
import Testing

@testable import FutureTreeHummingbird

@Suite("A client that disconnects") struct DisconnectTests {
  private let router = Router(context: TestContext.self)
  private let work = Work()
  private static let reason = "the client closed the connection"

  enum Departure: CaseIterable {
    case close
    case reset
    /// Only the output is closed, which the server cannot distinguish from a closed connection.
    case closeOutput
  }

  @Test("The handler's future receives a cancellation request with the reason", arguments: Departure.allCases)
  func whileHandlerWaits(departure: Departure) async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router) { address in
      let client = try await RawClient.get("/slow", from: address)
      try await work.begun.value
      switch departure {
      case .close: try await client.close()
      case .reset: try await client.reset()
      case .closeOutput: try await client.closeOutput()
      }
      #expect(try await work.reason.value == Self.reason)
    }
  }

  @Test("The first pending future of a connection installs the channel handler if the server does not")
  func installsItself() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }
    let (clock, first) = (ReportingClock(), Work())
    router.future(.get, "first") { _, _ in first.begin() }

    try await withServer(router, installs: false, clock: clock) { address in
      let client = try await RawClient.get("/first", "request-timeout: 1000", from: address)
      // The timer is set for a future that is pending. A future that has completed installs no channel handler.
      try await clock.firstTimer.value
      first.promise.succeed("first")
      _ = try await client.receive(through: "first")
      try await client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      try await work.begun.value
      try await client.close()
      #expect(try await work.reason.value == Self.reason)
    }
  }

  @Test("A client that disconnects before the handler runs is detected")
  func beforeHandlerRuns() async throws {
    let inputEnded = Promise<Void>()
    router.add(middleware: Waiting(until: inputEnded.future))
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, inputEnded: inputEnded) { address in
      try await RawClient.get("/slow", from: address).close()
      #expect(try await work.reason.value == Self.reason)
    }
  }

  @Test("A client that disconnects with a pipelined request is detected")
  func pipelined() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router) { address in
      let client = try await RawClient.get("/slow", from: address)
      try await client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
      try await work.begun.value
      try await client.close()
      #expect(try await work.reason.value == Self.reason)
    }
  }

  @Test("A client that disconnects after the head cancels the transfer of the stream")
  func afterHead() async throws {
    let feed = Feed(at: router)

    try await withServer(router) { address in
      let client = try await RawClient.get("/feed", from: address)
      _ = try await client.receive(through: "\r\n\r\n")
      #expect(feed.stream.send("one"))
      _ = try await client.receive(through: "one")
      try await client.close()
      let reason = try #require(try await feed.cancellationReason)
      #expect(reason.message == Self.reason && reason.kind == .disconnected)
    }
  }

  @Test("Work in which others have interest continues")
  func sharedWork() async throws {
    let source = Promise<String>()
    let token = source.future.cancelToken()
    let answered = Promise<Void>()
    router.future(.get, "shared") { [work] _, _ in
      _ = work.begin()
      let answer = source.future.map { $0 }
      answer.observe { _ in answered.succeed(()) }
      return answer
    }

    try await withServer(router) { address in
      let client = try await RawClient.get("/shared", from: address)
      try await work.begun.value
      try await client.close()
      try await answered.future.value
      #expect(source.cancelRequest == nil)
      #expect(!source.future.isCompleted)
    }
    withExtendedLifetime(token) {}
  }

  @Test("A handler whose task is cancelled asks its future to cancel, with that reason")
  func cancelledTask() async throws {
    let channel = NIOAsyncTestingChannel()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let context = TestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
    let isOnLoop = Promise<Bool>()
    let responder = FutureResponder<TestContext, String> { [work] _, _ in
      // Not inside the cancellation handler of the task, where the runtime can hold a lock.
      work.promise.onRequestCancel { _ in
        isOnLoop.succeed(channel.eventLoop.inEventLoop)
        return .continue
      }
      return work.begin()
    }
    let head = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/slow")
    let task = Task {
      try await responder.respond(to: Request(head: head, body: RequestBody(buffer: ByteBuffer())), context: context)
    }
    try await work.begun.value

    task.cancel()

    #expect(try await work.reason.value == "the task of the handler was cancelled")
    #expect(try await isOnLoop.future.value)
    let error = await #expect(throws: Hummingbird.HTTPError.self) { try await task.value }
    #expect(error?.status == .serviceUnavailable)
  }
}

private struct Waiting: RouterMiddleware {
  let until: Future<Void>

  func handle(
    _ request: Request, context: TestContext, next: (Request, TestContext) async throws -> Response
  ) async throws -> Response {
    try await until.value
    return try await next(request, context)
  }
}
