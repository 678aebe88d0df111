import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Log")
struct LogTests {
  private let mock = MockLoader()
  private let clock = ManualClock()
  private let lines = Recorder()

  private var log: Log { Log({ [lines] in lines($0) }, clock: clock) }

  @Test("A load logs a line at its start and one at its end, with number, status, time and size")
  func twoLines() {
    let api = log --> mock
    let first = mock.hold()
    let second = mock.hold()
    var post = HTTPRequest(.post, anyRequest("/b").url!)
    post.body = .data(Data(count: 1_449))

    _ = api.load(anyRequest("/a?page=2"))
    _ = api.load(post)
    clock.advance(by: .milliseconds(12))
    second.answer(status: .created, body: "31")
    clock.advance(by: .milliseconds(1_400))
    first.answer(status: .notFound, body: String(repeating: " ", count: 2_500_000))

    #expect(
      lines.entries == [
        "[1] GET http://example.com/a?page=REDACTED: begins",
        "[2] POST http://example.com/b: begins, sends 1.4 kB",
        "[2] POST http://example.com/b: 201 in 12 ms, 2 bytes",
        "[1] GET http://example.com/a?page=REDACTED: 404 in 1.4 s, 2.5 MB",
      ])
    expectEqual(clock.timerCount, 0)
  }

  @Test("Log works without arguments")
  func defaults() throws {
    mock.answer(body: sentinel)
    var request = anyRequest("/printed?key=\(sentinel)")
    try request.setHeader("Authorization", sentinel)

    expectEqual((Log() --> mock).load(request).text, "success")
  }

  @Test("A failure is logged by its code or type alone, and a second attempt by its number")
  func failures() {
    let api = log --> mock
    var again = anyRequest()
    again.attempt = 2
    mock.fail(HTTPError(.timedOut, sentinel))
    mock.fail(Oops(name: sentinel))

    expectEqual(api.load(again).text, "timedOut")
    expectEqual(api.load(anyRequest()).text, sentinel)

    #expect(
      lines.entries == [
        "[1] GET http://example.com/, attempt 2: begins",
        "[1] GET http://example.com/, attempt 2: failed after 0.0 ms: timedOut",
        "[2] GET http://example.com/: begins", "[2] GET http://example.com/: failed after 0.0 ms: Oops",
      ])
  }

  @Test("A cancelled load logs the reason and the source line of the request")
  func cancelled() {
    let held = mock.hold(whenCancelled: .complete)
    let load = (log --> mock).load(anyRequest())

    load.cancel(reason: CancellationReason("the tab was closed", fileID: "App/Tab.swift", line: 7))

    #expect(
      lines.entries.last
        == "[1] GET http://example.com/: cancelled after 0.0 ms: the tab was closed (App/Tab.swift:7)")
    withExtendedLifetime(held) {}
  }

  @Test("A forced end is logged at once, and only once")
  func forced() {
    let held = mock.hold()
    let load = (log --> mock).load(anyRequest())

    load.cancel(.forceImmediately, reason: "enough")
    let count = lines.entries.count
    held.answer()

    expectEqual(count, 2)
    expectEqual(lines.entries.count, 2)
    expectEqual(load.text, "cancelled")
    expectEqual(held.cancelRequest?.reason.message, "enough", "The loader receives the request.")
  }

  @Test("A line stays one line, whatever a reason, a label or a path contains")
  func injection() {
    let log = Log({ [lines] in lines($0) }, label: "a\nb", clock: clock)
    let held = mock.hold(whenCancelled: .complete)
    let load = (log --> mock).load(anyRequest("/%0A%0D?\(sentinel)%0A"))
    let hostile = "a\nb\r\u{85}\u{2028}c\u{1B}[2J\u{202E}d\u{200B}\u{7}\u{FEFF}é"

    load.cancel(reason: CancellationReason(hostile + String(repeating: "x", count: 10_000), fileID: "F\n", line: 1))

    let line = lines.entries.last ?? ""
    #expect(
      line.hasPrefix(#"[a\u{A}b 1] GET http://example.com/%0A%0D?REDACTED: cancelled after 0.0 ms: a\u{A}b\u{D}\u{85}"#)
    )
    #expect(
      line.contains(#"\u{2028}c\u{1B}[2J\u{202E}d\u{200B}\u{7}\u{FEFF}éxxx"#) && line.hasSuffix(#"x… (F\u{A}:1)"#))
    #expect(lines.entries.allSatisfy { !$0.contains(where: \.isNewline) && $0.unicodeScalars.count < 400 })
    withExtendedLifetime(held) {}
  }

  @Test("Escaped text has the same limit as other text, and no escape is split")
  func manyEscapes() {
    let held = mock.hold()
    let load = (log --> mock).load(anyRequest())
    let message = String(repeating: "\u{10FFFD}", count: 10_000)

    load.cancel(.forceImmediately, reason: CancellationReason(message, fileID: "F", line: 1))

    let escapes = String(repeating: #"\u{10FFFD}"#, count: 20)
    expectEqual(lines.entries.last?.hasSuffix(": " + escapes + "… (F:1)"), true)
    withExtendedLifetime(held) {}
  }

  @Test("A request can turn logging off")
  func silenced() {
    mock.answer()
    var request = anyRequest()
    request.isLogged = false

    expectEqual((log --> mock).load(request).text, "success")
    #expect(lines.entries.isEmpty)
  }

  @Test("Loads of the writer are not logged, neither in its call nor in its tasks")
  func writerLoads() async {
    let chain = Locked<(any HTTPLoader)?>(nil)
    let loads = Locked<[Task<Void, Never>]>([])
    let log = Log(
      { [lines] line in
        lines(line)
        _ = chain.value?.load(anyRequest("/call"))
        let task = Task { _ = await chain.value?.load(anyRequest("/task")).outcome }
        loads.withLock { $0.append(task) }
      }, clock: clock)
    mock.onOthers(.status(.ok))
    let api = log --> mock
    chain.value = api

    _ = api.load(anyRequest())
    for task in loads.value { await task.value }

    expectEqual(lines.entries.count, 2)
    expectEqual(mock.requests.count, 5)
    chain.value = nil
  }

  @Test("Log returns the future of the next loader, is not a consumer, and keeps a shared future shared")
  func future() {
    let promise = Promise<HTTPResponse>()
    let end = Constant(future: promise.future.shared())
    let api = log --> end
    let first = api.load(anyRequest())
    let second = api.load(anyRequest())
    let token = second.cancelToken()

    expectEqual(first, promise.future)
    expectEqual(second, promise.future)
    expectEqual(first.tree().entries[0].consumers, 1, "Only the token is a consumer.")
    expectEqual(first.cancel(.forceImmediately).effect, .withheld(by: 1))
    token.cancel(.forceImmediately)

    expectEqual(lines.entries.filter { $0.contains("cancelled") }.count, 2)
    withExtendedLifetime(promise) {}
  }

  @Test("A reset of an inner layer drains a load that its caller has forced")
  func drains() {
    let held = mock.hold()
    let api = ResetGuard() --> log --> Autocancel(clock: clock) --> mock
    let load = api.load(anyRequest())
    load.cancel(.forceImmediately)

    let reset = api.reset()
    let isWaiting = !reset.isCompleted
    held.complete(.cancelled)

    #expect(isWaiting)
    expectEqual(reset.text, "success")
    expectEqual(lines.entries.count, 2)
    expectEqual(clock.timerCount, 0)
  }

  @Test("1,000 loads that complete at once, each begun by the previous one, need no stack")
  func deep() {
    mock.onOthers(.status(.ok))
    let api = log --> mock
    let count = Locked(0)
    @Sendable func next() {
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number < 1_000 { api.load(anyRequest()).observe { _ in next() } }
    }

    next()

    expectEqual(count.value, 1_000)
    expectEqual(lines.entries.count, 2 * 999)
  }

  @Test("Loads on many threads have unique numbers, and each start is logged before its end")
  func threads() async {
    mock.onOthers(.status(.ok))
    let api = log --> mock
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 { group.addTask { _ = await api.load(anyRequest()).outcome } }
    }

    let entries = lines.entries
    expectEqual(entries.count, 400)
    for number in 1...200 {
      let own = entries.filter { $0.hasPrefix("[\(number)] ") }
      expectEqual(own.count, 2)
      expectEqual(own.first?.hasSuffix("begins"), true)
      expectEqual(own.last?.hasSuffix("bytes"), true)
    }
  }

  @Test("A completed load releases the writer")
  func lifetime() {
    weak var observed: Recorder?
    do {
      let recorder = Recorder()
      observed = recorder
      let held = mock.hold()
      let load = (Log({ recorder($0) }, clock: clock) --> mock).load(anyRequest())
      held.answer()
      expectEqual(load.text, "success")
      expectEqual(recorder.entries.count, 2)
    }

    #expect(observed == nil)
  }

  @Test("Durations are short, and a clock that goes back gives zero")
  func durations() {
    let held = (0..<7).map { _ in mock.hold() }
    let clock = JumpingClock()
    let api = Log({ [lines] in lines($0) }, clock: clock) --> mock
    let times: [Duration] = [
      .microseconds(999), .microseconds(999_999), .milliseconds(59_999), .seconds(60), .seconds(3_600 * 30),
      .seconds(-1),
      .seconds(Int64.max),
    ]

    for (time, held) in zip(times, held) {
      clock.time.value = .zero
      _ = api.load(anyRequest())
      clock.time.value = time
      held.answer()
    }

    expectEqual(
      lines.entries.compactMap { $0.firstMatch(of: /200 in (.*), 0 bytes/).map { String($0.1) } },
      ["0.9 ms", "999 ms", "59.9 s", "1 min 0 s", "30 h 0 min", "0.0 ms", "2562047788015215 h 30 min"])
  }

  @Test("One Log in two chains counts the loads of both")
  func twoChains() {
    let log = log
    let other = MockLoader()
    mock.answer()
    other.answer(status: .noContent)

    _ = (log --> mock).load(anyRequest())
    _ = (log --> other).load(anyRequest())

    #expect(lines.entries.last == "[2] GET http://example.com/: 204 in 0.0 ms, 0 bytes")
  }

  @Test("A reset is forwarded")
  func reset() {
    expectEqual((log --> mock).reset().text, "success")
  }
}

/// The end of a chain, with one future for all loads.
private struct Constant: HTTPLoader {
  let future: Future<HTTPResponse>

  func load(_: HTTPRequest) -> Future<HTTPResponse> { future }

  func reset() -> Future<Void> { .succeeded(()) }
}

/// A clock that the test sets, also back.
private final class JumpingClock: FutureClock {
  let time = Locked(Duration.zero)

  var now: Duration { time.value }

  func schedule(after _: Duration, _: @escaping @Sendable () -> Void) -> FutureTimer { FutureTimer {} }
}
