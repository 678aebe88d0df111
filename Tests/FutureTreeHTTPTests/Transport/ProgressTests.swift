import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader, progress", .onSockets) struct ProgressTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)
  private let reports = Locked<[HTTPProgress]>([])

  init() throws {
    server = try Loopback.server()
  }

  /// The thread of the clock ends the transfer while the handler blocks the thread of the session.
  @Test("A deadline during a progress report waits for its end, and no report follows")
  func notAfterTheEnd() async throws {
    let clock = ManualClock()
    let loader = URLSessionLoader(clock: clock)
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .stall])
    let (begun, mayEnd) = (Promise<Void>(), DispatchSemaphore(value: 0))
    var request = try HTTPRequest(server.url("/body"))
    request.progress = { [reports] progress in
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

    await expectEqual(future.outcome.code, .timedOut)
    let count = reports.value.count
    try await loader.reset().value
    expectEqual(reports.value.count, count)
  }

  @Test(
    "A progress handler may cancel its load, with and without force",
    arguments: [CancellationOptions(), .forceImmediately])
  func cancels(options: CancellationOptions) async throws {
    let loaded = Locked<Future<HTTPResponse>?>(nil)
    let ready = DispatchSemaphore(value: 0)
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .stall])
    var request = try HTTPRequest(server.url("/body"))
    request.progress = { progress in
      guard progress.received.completed == 4 else { return }
      ready.wait()
      loaded.value?.cancel(options)
    }

    let future = loader.load(request)
    loaded.value = future
    ready.signal()

    await expectEqual(future.outcome.ending, .cancelled)
    _ = await server.waitForClose(of: "/body").outcome
  }
}
