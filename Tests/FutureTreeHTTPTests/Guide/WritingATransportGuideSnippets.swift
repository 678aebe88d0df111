import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

// guide transport
/// Answers requests with a function of this process.
final class InProcessLoader: HTTPLoader {
  struct Answer: Sendable {
    var status = HTTPStatus.ok
    var fields: [(name: String, value: String)] = []
    var body: AsyncThrowingStream<Data, any Error>
  }

  private let live = LiveLoads()
  private let answer: @Sendable (HTTPRequest, Data) async throws -> Answer

  init(_ answer: @escaping @Sendable (HTTPRequest, Data) async throws -> Answer) {
    self.answer = answer
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let exchange = Future.task { try await self.exchange(request) }
    return live.track(exchange).mapError { error in
      let known = error as? HTTPError
      return (known ?? HTTPError(.functionFailed, "The function failed. Look at `underlying`.", underlying: error))
        .naming(request)
    }
    .named(request.description)
  }

  func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }

  func reset() -> Future<Void> { live.drain() }

  private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
    try request.body.checkContentType()
    var receiver = try ResponseReceiver(for: request, maximumSize: 1 << 20)
    var progress = HTTPProgress(sent: HTTPProgress.Part(total: try request.body.announcedLength()))
    let report = request.progress

    var body = Data()
    for try await chunk in request.body.chunks() {
      body += chunk
      progress.sent.completed = body.count
      report?(progress)
    }
    let answer = try await answer(request, body)
    try Task.checkCancellation()
    try receiver.receiveHead(answer.status, answer.fields)
    progress.received = receiver.received
    report?(progress)
    for try await chunk in answer.body {
      try Task.checkCancellation()
      try receiver.receive(chunk)
      progress.received = receiver.received
      report?(progress)
    }
    try Task.checkCancellation()  // A stream ends early, without an error, in a cancelled task.
    return try receiver.finish()
  }
}

extension HTTPError.Code {
  static let functionFailed = HTTPError.Code("InProcess.functionFailed")
}
// end

/// A body with chunks that the test provides.
private struct HeldBody: Sendable {
  let stream: AsyncThrowingStream<Data, any Error>
  private let continuation: AsyncThrowingStream<Data, any Error>.Continuation

  init(_ chunks: String...) {
    (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
  }

  func end(_ error: (any Error)? = nil) -> Self {
    continuation.finish(throwing: error)
    return self
  }
}

/// The code of the article *Writing a transport*, word for word, and tests of its guarantees.
@Suite("Guide: Writing a transport", .timeLimit(.minutes(20)))
struct WritingATransportGuideSnippets {
  private let request = anyRequest("/feed")

  private func answering(
    _ body: HeldBody, length: Int? = nil
  ) -> InProcessLoader {
    InProcessLoader { _, _ in
      let fields = length.map { [(name: "Content-Length", value: "\($0)")] } ?? []
      return InProcessLoader.Answer(fields: fields, body: body.stream)
    }
  }

  @Test("A load streams both bodies and reports progress")
  func load() async throws {
    // guide chain
    let api =
      Retry()
      --> InProcessLoader { request, body in
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        continuation.yield(Data("\(request.method) \(body.count)".utf8))
        continuation.finish()
        return InProcessLoader.Answer(body: stream)
      }
    // end
    var request = try HTTPRequest(.post, "http://example.com/feed")
    request.body = .stream(length: 3) { HTTPBodyReader(InputStream(data: Data("abc".utf8))) }
    let seen = Locked<[HTTPProgress]>([])
    request.progress = { progress in seen.withLock { $0.append(progress) } }

    let response = try await api.load(request).value

    #expect(try response.body == Data("POST 3".utf8))
    #expect(seen.value.map(\.sent.completed) == [3, 3, 3] && seen.value.map(\.received.completed) == [0, 0, 6])
  }

  @Test("A cancelled load ends when its function has ended (H5, confirmed cancellation)")
  func cancel() async throws {
    let begun = Promise<Void>()
    let (released, body) = (Promise<Void>(), HeldBody("ab"))
    let loader = InProcessLoader { _, _ in
      begun.succeed()
      _ = await released.future.outcome
      return InProcessLoader.Answer(body: body.stream)
    }
    let load = loader.load(request)
    try await begun.future.value

    load.cancel(reason: "not needed")

    #expect(load.outcomeIfCompleted == nil)
    released.succeed()
    let outcome = await load.outcome
    #expect(outcome.ending == .cancelled)
  }

  @Test("A load can be cancelled while its body arrives")
  func cancelInBody() async throws {
    let arrived = Promise<Void>()
    var request = request
    request.progress = { if $0.received.completed == 2 { arrived.succeed() } }
    let loader = answering(HeldBody("ab"))
    let load = loader.load(request)
    try await arrived.future.value

    load.cancel()

    #expect(await load.outcome.ending == .cancelled)
    try await loader.reset().value
  }

  @Test("A forced load ends at once, and a reset waits for its function (H6, refuse, drain, wipe)")
  func force() async throws {
    let (begun, released) = (Promise<Void>(), Promise<Void>())
    let ended = Locked(false)
    let loader = InProcessLoader { _, _ in
      begun.succeed()
      _ = await released.future.outcome
      ended.value = true
      throw Oops()
    }
    let load = loader.load(request)
    try await begun.future.value

    load.cancel(.forceImmediately)
    let reset = loader.reset()

    #expect(load.text == "cancelled" && reset.text == "pending")
    released.succeed()
    try await reset.value
    #expect(ended.value)
  }

  @Test("A truncated body is an error, even if the stream fails (H12, whole bodies)")
  func cut() async throws {
    let cut = try #require(await answering(HeldBody("abc").end(), length: 4).load(request).outcome.error)
    let broken = try #require(await answering(HeldBody("abc").end(Oops()), length: 4).load(request).outcome.error)

    #expect(cut.code == .truncatedBody && cut.message.hasPrefix("\(request): "))
    #expect(broken.code == .functionFailed && broken.message.hasPrefix("\(request): "))
  }

  @Test("An oversized body is an error, in memory and in a file, and leaves no file")
  func tooLarge() async throws {
    let folder = try Folder()
    for delivery in [
      ResponseDelivery.buffered(maximumSize: 3), .file(folder.file("body"), maximumSize: 3),
    ] {
      var request = request
      request.delivery = delivery

      let outcome = await answering(HeldBody("ab", "cd").end()).load(request).outcome

      #expect(outcome.code == .bodyTooLarge)
    }
    #expect(folder.names == [])
  }

  @Test("A reset cancels and awaits live loads, and the transport stays usable (H6, refuse, drain, wipe)")
  func reset() async throws {
    let begun = Promise<Void>()
    let loader = InProcessLoader { request, _ in
      if request.path == "/held" {
        begun.succeed()
        return InProcessLoader.Answer(body: HeldBody().stream)
      }
      return InProcessLoader.Answer(body: HeldBody("ok").end().stream)
    }
    let load = loader.load(anyRequest("/held"))
    try await begun.future.value

    try await loader.reset().value

    #expect(load.text == "cancelled")
    #expect(try await loader.load(request).value.body == Data("ok".utf8))
  }
}
