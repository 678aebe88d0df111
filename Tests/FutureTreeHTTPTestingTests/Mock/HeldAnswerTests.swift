import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@Suite("MockLoader: held answers") struct HeldAnswerTests {
  private let mock = MockLoader()

  private func load() throws -> Future<HTTPResponse> {
    mock.load(try HTTPRequest("http://example.com/"))
  }

  @Test("`loaded` succeeds when the load begins, with its request")
  func loaded() throws {
    let held = mock.hold()
    let loaded = held.loaded
    #expect(held.request == nil && !loaded.isCompleted)

    _ = try load()

    #expect(try loaded.outcomeIfCompleted?.get().path == "/")
    #expect(held.request?.path == "/")
    #expect(!held.isCompleted)
    held.complete(.cancelled)
    #expect(held.isCompleted)
  }

  @Test("asked to cancel, it goes on until the test confirms")
  func continues() throws {
    let held = mock.hold(whenCancelled: .continue)
    let future = try load()

    let receipt = future.cancel()

    #expect(receipt.effect == .delivered)
    #expect(!future.isCompleted)
    #expect(held.complete(.cancelled))
    #expect(future.outcomeIfCompleted?.ending == .cancelled)
  }

  @Test("asked to cancel, it completes at once if it was told to")
  func completes() throws {
    let held = mock.hold(whenCancelled: .complete)
    let future = try load()

    future.cancel(reason: "enough")

    #expect(future.outcomeIfCompleted?.ending == .cancelled)
    #expect(!held.complete(.cancelled))
    #expect(mock.cancelRequests.map(\.reason.message) == ["enough"])
  }

  @Test("a reset asks what is held and what is delayed, and waits; not for what ignores it")
  func reset() throws {
    let clock = ManualClock()
    let held = [HeldAnswer.WhenCancelled.continue, .complete, .ignore].map { mock.hold(whenCancelled: $0) }
    mock.on(.any, .status(.ok).delayed(by: .seconds(1), clock: clock))
    let futures = try (0..<4).map { _ in try load() }

    let reset = mock.reset()

    #expect(held.map { $0.cancelRequest != nil } == [true, true, true])
    #expect(mock.cancelRequests.count == 4)
    #expect(!reset.isCompleted)
    held[0].complete(.cancelled)
    #expect(reset.outcomeIfCompleted?.ending == .succeeded)
    #expect(futures.map { $0.outcomeIfCompleted?.ending } == [.cancelled, .cancelled, nil, .cancelled])
    #expect(held[2].answer())
    #expect(mock.pendingCount == 0)
  }

  @Test("a delayed answer that ignores requests is not waited for, once it is held")
  func resetDelayedIgnoring() throws {
    let clock = ManualClock()
    let stub = mock.on(.any, .hold(whenCancelled: .ignore).delayed(by: .seconds(1), clock: clock))
    let future = try load()
    clock.advance(by: .seconds(1))

    let reset = mock.reset()

    #expect(reset.outcomeIfCompleted?.ending == .succeeded)
    #expect(!future.isCompleted)
    stub.held[0].complete(.cancelled)
  }

  @Test("a reset leaves stubs and records, and what was not loaded yet")
  func resetKeeps() throws {
    mock.on("/", .status(.ok))
    let held = mock.hold("/later")

    _ = mock.reset()

    #expect(mock.unusedAnswers == 2)
    #expect(try load().outcomeIfCompleted?.ending == .succeeded)
    #expect(held.cancelRequest == nil)
  }

  @Test("force ends what ignores requests, and a drain that gives up waiting has a test")
  func drain() throws {
    let clock = ManualClock()
    let held = mock.hold(whenCancelled: .ignore)
    let future = try load()
    future.cancel()
    let drain = future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    #expect(drain.outcomeIfCompleted?.ending == .failed)
    #expect(!future.isCompleted)
    future.cancel(.forceImmediately)
    #expect(future.outcomeIfCompleted?.ending == .cancelled)
    #expect(!held.answer())
  }

  @Test("a request that races the end of a delay leaves no held answer behind unasked", .timeLimit(.minutes(60)))
  func delayAgainstCancel() throws {
    var unasked = 0

    for _ in 0..<600 {
      let (mock, clock) = (MockLoader(), ManualClock())
      let stub = mock.on(.any, .hold().delayed(by: .seconds(1), clock: clock))
      let future = mock.load(try HTTPRequest("http://example.com/"))
      atOnce({ clock.advance(by: .seconds(1)) }, { future.cancel() })
      unasked += stub.held.filter { $0.cancelRequest == nil }.count
    }

    #expect(unasked == 0)
  }

  @Test("it reports progress to who wants to be told, from when it is loaded until it is completed")
  func reports() throws {
    let told = Locked<[Int]>([])
    var request = try HTTPRequest("http://example.com/")
    request[option: ProgressHandler.self] = { progress in told.withLock { $0.append(progress.received.completed) } }
    let (held, silent) = (mock.hold("/"), mock.hold("/silent"))
    #expect(!held.report())

    _ = mock.load(request)
    _ = mock.load(try HTTPRequest("http://example.com/silent"))
    let reports = [held.report(), held.report(HTTPProgress(received: .init(completed: 7))), silent.report()]
    held.answer()

    #expect(reports == [true, true, false] && !held.report() && told.value == [0, 7])
    silent.complete(.cancelled)
  }
}
