import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreePictures
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting
@testable import FutureTreeRecording

@Suite("Flight recorder") struct FlightRecordingTests {
  private let clock = ManualClock()
  private let log: FutureLog
  private let mock: MockLoader
  private let missed = Recorder()

  init() {
    log = FutureLog(clock: clock)
    mock = MockLoader(clock: clock)
  }

  private func recorder(limit: Int? = nil, log: FutureLog? = nil) -> HTTPRecorder {
    HTTPRecorder(limit: limit, log: log ?? self.log, date: clock.wallClock(), clock: clock) {
      [missed] request, recorder in
      missed("\(request.path): \(recorder.recording().exchanges.count)")
    }
  }

  private func flights(_ recording: FlightRecording) -> [String] {
    recording.exchanges.entries.map { "\($0.request.method) \($0.response.status) \($0.response._error ?? "-")" }
  }

  /// A program whose result depends on the order of its responses: it loads two pages, and a third when the first of them has
  /// arrived or after a second. Its work runs on an executor.
  private final class Program {
    let lines = Recorder()
    let loads: [Future<HTTPResponse>]
    let next: Future<Void>

    init(_ api: any HTTPLoader, _ clock: ManualClock, _ executor: ManualExecutor) {
      let lines = lines
      let started = clock.now
      loads = ["/a", "/b", "/search"].map { api.load(anyRequest($0)) }
      for (name, load) in zip(["a", "b", "search"], loads) {
        load.observe(on: executor.executor) { lines("\(clock.now - started) \(name): \($0.ending)") }
      }
      next = Future.race([
        loads[0].map(on: executor.executor) { _ in "a" }, loads[1].map(on: executor.executor) { _ in "b" },
        Future<Void>.after(.seconds(1), clock: clock).map { "time" },
      ]).flatMap(on: executor.executor) { first in
        lines("\(clock.now - started) first: \(first)")
        return api.load(anyRequest("/after/\(first)")).map { _ in }
      }
      next.observe { lines("\(clock.now - started) next: \($0.ending)") }
    }
  }

  @Test("A replay repeats the order and the times of responses, timers and cancellation requests")
  func replayed() throws {
    let recorder = recorder()
    let executor = ManualExecutor()
    let held = (0..<4).map { _ in mock.hold(whenCancelled: .continue) }
    clock.advance(by: .seconds(100))
    let program = Program(recorder --> mock, clock, executor)
    clock.advance(by: .milliseconds(300))
    program.loads[2].map { $0.status }.cancel(reason: "the search was cleared")
    clock.advance(by: .milliseconds(200))
    held[1].answer(body: "b")
    executor.runAll()
    clock.advance(by: .milliseconds(700))
    held[2].complete(.failure(HTTPError(.connectionLost, "lost")))
    held[0].answer(body: "a")
    executor.runAll()
    clock.advance(by: .milliseconds(100))
    held[3].answer(status: .notFound)
    executor.runAll()

    let recording = try FlightRecording(recorder.recording().data())
    let (newClock, newExecutor) = (ManualClock(), ManualExecutor())
    let replayer = HTTPReplayer(recording)
    let again = Program(replayer, newClock, newExecutor)
    try replayer.replay(on: newClock, running: newExecutor)

    expectEqual(again.lines.entries, program.lines.entries)
    expectEqual(again.lines.count, 5)
    #expect(again.lines.entries.contains("0.5 seconds first: b"))
    expectEqual(again.loads[2].cancelRequest?.reason.message, "the search was cleared")
    expectEqual(replayer.unused, [])
    expectEqual(newClock.now, .milliseconds(1_300))
  }

  @Test("A load that was cancelled ends at its own step, and a load in flight stays pending")
  func ends() throws {
    let recorder = recorder()
    let (first, second) = (mock.hold(whenCancelled: .continue), mock.hold())
    let api = recorder --> mock
    let loads = ["/a", "/b"].map { api.load(anyRequest($0)) }
    loads[0].cancel(reason: "closed")
    clock.advance(by: .seconds(2))
    first.complete(.cancelled)
    expectEqual(flights(recorder.recording()), ["GET 0 cancelled", "GET 0 pending"])
    expectEqual(recorder.archive.count, 0)

    let (replayer, newClock) = (HTTPReplayer(recorder.recording()), ManualClock())
    let again = ["/a", "/b"].map { replayer.load(anyRequest($0)) }
    let ends = Recorder()
    again[0].observe { ends("\(newClock.now): \($0)") }
    try replayer.replay(on: newClock)

    #expect(ends.entries.count == 1 && ends.entries[0].hasPrefix("2.0 seconds: cancelled(closed"))
    #expect(!again[1].isCompleted)
    second.answer()
  }

  @Test("Loads without events in the log end at once, as they were recorded")
  func withoutEvents() throws {
    let recorder = recorder(log: FutureLog(limit: 0, clock: clock))
    mock.on("/ok", .text("ok"))
    mock.on("/lost", .fail(HTTPError(.connectionLost, "lost")))
    let held = ["/held", "/cancelled"].map { _ in mock.hold(whenCancelled: .complete) }
    let loads = ["/held", "/cancelled", "/ok", "/lost"].map { (recorder --> mock).load(anyRequest($0)) }
    loads[1].cancel()

    let replayer = HTTPReplayer(recorder.recording())
    let again = ["/held", "/cancelled", "/ok", "/lost"].map { replayer.load(anyRequest($0)) }
    try replayer.replay(on: ManualClock())

    expectEqual(again.map { $0.outcomeIfCompleted?.ending }, [nil, .cancelled, .succeeded, .failed])
    withExtendedLifetime(held) {}
  }

  @Test("A program that does not load the next request ends the replay with an error")
  func diverged() throws {
    let recorder = recorder()
    let held = mock.hold()
    let load = (recorder --> mock).load(anyRequest("/a?token=secret"))
    held.answer()

    let replayer = HTTPReplayer(recorder.recording())
    let error = #expect(throws: ReplayDiverged.self) { try replayer.replay(on: ManualClock()) }

    #expect(error == ReplayDiverged(request: "GET http://example.com/a with the query token", step: "the response"))
    try #expect(ErrorText.fault(of: #require(error)) == nil)
    #expect(load.isCompleted)
  }

  @Test("A missed deadline is reported once, with the loads until then")
  func missedDeadline() throws {
    let recorder = recorder()
    let api = recorder --> Timeout(total: .seconds(3), attempt: nil, idle: nil, clock: clock) --> mock
    mock.on("/slow", .hold())
    mock.on("/fast", .status(.ok))
    mock.on("/refused", .fail(HTTPError(.cannotConnect, "refused")))
    let loads = ["/fast", "/refused", "/slow"].map { api.load(anyRequest($0)) }
    clock.advance(by: .seconds(3))

    expectEqual(missed.entries, ["/slow: 3"])
    expectEqual(flights(recorder.recording()), ["GET 200 -", "GET 0 cannotConnect", "GET 0 deadlineExceeded"])
    withExtendedLifetime(loads) {}
  }

  @Test("A cancelled load after the deadline of its request has missed it")
  func missedByCancellation() {
    var request = anyRequest("/a")
    request.deadline = .after(.seconds(1), clock: clock)
    mock.onOthers(.hold(whenCancelled: .complete))
    for seconds in [0, 2] {
      let load = (recorder() --> mock).load(request)
      clock.advance(by: .seconds(seconds))
      load.cancel()
      expectEqual(missed.count, seconds == 0 ? 0 : 1)
    }
  }

  @Test("The latest loads are kept, and a reset removes them")
  func limited() {
    let recorder = recorder(limit: 2)
    mock.onOthers(.status(.ok))
    let held = mock.hold()
    let api = recorder --> mock
    let slow = api.load(anyRequest("/slow"))
    for number in 1...3 { _ = api.load(anyRequest("/\(number)")) }
    #expect(recorder.archive.entries.map(\.request.url) == ["/2", "/3"].map { "http://example.com\($0)" })
    held.answer()
    #expect(slow.isCompleted)
    expectEqual(recorder.archive.count, 2)
    // A slow load, such as a load that misses its deadline, is kept although later loads have ended before it.
    #expect(recorder.archive.entries.map(\.request.url) == ["/slow", "/3"].map { "http://example.com\($0)" })
    _ = api.reset()
    expectEqual(recorder.recording().exchanges.count, 0)
    _ = api.load(anyRequest("/4"))
    expectEqual(recorder.archive.count, 1)
  }

  @Test("A recording shows no secret, and prints only numbers")
  func secrets() throws {
    let recorder = recorder()
    mock.onOthers(.fail(HTTPError(.connectionLost, "lost")))
    var request = anyRequest("/a?key=\(sentinel)")
    try request.setHeader("Authorization", "Bearer \(sentinel)")
    _ = (recorder --> mock).load(request)
    let recording = recorder.recording()

    #expect(try !String(decoding: recording.data(), as: UTF8.self).contains(sentinel))
    #expect("\(recording)".hasPrefix("FlightRecording(1 requests, ") && !recording.futures.html().contains(sentinel))
    #expect(throws: InvalidArchive.self) { try FlightRecording(Data("{}".utf8)) }
  }
}
