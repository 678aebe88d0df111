import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import Testing

@Suite("URLSessionLoader, progress", .onSockets) struct ProgressTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)
  private let reports = Locked<[HTTPProgress]>([])

  init() throws {
    server = try Loopback.server()
  }

  private func request(_ path: String, _ method: HTTPMethod = .get) throws -> HTTPRequest {
    var request = try HTTPRequest(method, server.url(path))
    request[option: ProgressHandler.self] = { [reports] progress in reports.withLock { $0.append(progress) } }
    return request
  }

  private func isMonotonic(_ values: [Int]) -> Bool { zip(values, values.dropFirst()).allSatisfy { $0 <= $1 } }

  @Test("Received bytes are reported from zero to the total, and never decrease")
  func received() async throws {
    server.on("/body", .respond(body: String(repeating: "x", count: 1_000_000)))

    _ = try await loader.load(try request("/body")).value

    let received = reports.value.map(\.received)
    #expect(received.first == HTTPProgress.Part(completed: 0, total: 1_000_000))
    #expect(received.last == HTTPProgress.Part(completed: 1_000_000, total: 1_000_000))
    #expect(received.last?.fraction == 1)
    #expect(isMonotonic(received.map(\.completed)))
  }

  @Test("A body in chunks has no total")
  func chunks() async throws {
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")])

    _ = try await loader.load(try request("/body")).value

    #expect(reports.value.last?.received == HTTPProgress.Part(completed: 5, total: nil))
    #expect(reports.value.last?.received.fraction == nil)
  }

  @Test("Sent bytes are reported with their total, and never decrease or exceed it", arguments: [true, false])
  func sent(isLengthKnown: Bool) async throws {
    server.on("/upload", .respond())
    var request = try request("/upload", .put)
    let size = 1_000_000
    request.body = .stream(length: isLengthKnown ? size : nil) {
      var left = size
      return HTTPBodyReader { maximum in
        defer { left -= min(left, maximum) }
        return Data(count: min(left, maximum))
      }
    }

    _ = try await loader.load(request).value

    let sent = reports.value.map(\.sent)
    #expect(sent.last == HTTPProgress.Part(completed: size, total: isLengthKnown ? size : nil))
    #expect(isMonotonic(sent.map(\.completed)))
  }

  /// The thread of the clock ends the transfer while the handler blocks the thread of the session.
  @Test("A deadline during a progress report waits for its end, and no report follows")
  func notAfterTheEnd() async throws {
    let clock = ManualClock()
    let loader = URLSessionLoader(clock: clock)
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .stall])
    let (begun, mayEnd) = (Promise<Void>(), DispatchSemaphore(value: 0))
    var request = try HTTPRequest(server.url("/body"))
    request[option: ProgressHandler.self] = { [reports] progress in
      reports.withLock { $0.append(progress) }
      guard progress.received.completed == 4 else { return }
      begun.succeed(())
      mayEnd.wait()
    }
    let future = loader.load(request)
    _ = await begun.future.outcome

    clock.advance(by: .seconds(60))
    #expect(!future.isCompleted)
    mayEnd.signal()

    #expect(await future.outcome.code == .timedOut)
    let count = reports.value.count
    try await loader.reset().value
    #expect(reports.value.count == count)
  }

  @Test(
    "A progress handler may cancel its load, with and without force",
    arguments: [CancellationOptions(), .forceImmediately])
  func cancels(options: CancellationOptions) async throws {
    let loaded = Locked<Future<HTTPResponse>?>(nil)
    let ready = DispatchSemaphore(value: 0)
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .stall])
    var request = try HTTPRequest(server.url("/body"))
    request[option: ProgressHandler.self] = { progress in
      guard progress.received.completed == 4 else { return }
      ready.wait()
      loaded.value?.cancel(options)
    }

    let future = loader.load(request)
    loaded.value = future
    ready.signal()

    #expect(await future.outcome.ending == .cancelled)
    _ = await server.waitForClose(of: "/body").outcome
  }
}
