import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Timeout, progress") struct TimeoutProgressTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func progress(sent: Int = 0, received: Int = 0, total: Int? = nil) -> HTTPProgress {
    HTTPProgress(sent: .init(completed: sent), received: .init(completed: received, total: total))
  }

  @Test("The first byte is that of the response: bytes sent do not count")
  func firstByte() {
    let api = Timeout(firstByte: .seconds(5), clock: clock) --> mock
    let held = [mock.hold("/a"), mock.hold("/b"), mock.hold("/c")]
    let loads = ["/a", "/b", "/c"].map { api.load(anyRequest($0)) }

    held[0].report(progress())  // The head of a response, where the request has no body.
    for sent in [10, 20] { held[1].report(progress(sent: sent)) }
    for sent in [10, 20, 20] { held[2].report(progress(sent: sent)) }
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))

    expectEqual(loads.map(\.text), ["pending", "timedOut", "pending"])
    for answer in held { answer.complete(.cancelled) }
    expectEqual(clock.timerCount, 0)
  }

  @Test("The idle timeout is the time in which nothing is sent or received")
  func idle() {
    let held = mock.hold()
    let load = (Timeout(idle: .seconds(5), clock: clock) --> mock).load(anyRequest())

    for step in [progress(sent: 1), progress(sent: 2), progress(sent: 2), progress(sent: 2, received: 1)] {
      clock.advance(by: .seconds(4))
      held.report(step)
      expectEqual(load.text, "pending")
      expectEqual(clock.timerCount, 1)
    }
    clock.advance(by: .milliseconds(4999))
    expectEqual(load.text, "pending")
    clock.advance(by: .milliseconds(1))

    expectEqual(load.text, "timedOut")
    expectEqual(clock.timerCount, 0)
    withExtendedLifetime(held) {}
  }

  @Test("The idle timeout begins again when the reader of a stream has read what waited for it")
  func idleReader() async throws {
    let mock = MockLoader(clock: clock)
    let held = mock.stream()
    var request = anyRequest()
    request.delivery = .stream(idleReadTimeout: nil)
    let response = try await (Timeout(idle: .seconds(5), clock: clock) --> mock).load(request).value
    held.send("ab")
    var reader = response.bodyStream.makeAsyncIterator()

    clock.advance(by: .milliseconds(9900))
    try await expectEqual(reader.next()?.count, 2)
    clock.advance(by: .milliseconds(5099))
    expectEqual(response.transfer.text, "pending")
    clock.advance(by: .milliseconds(1))

    expectEqual(response.transfer.text, "timedOut")
    held.completeCancelled()
    withExtendedLifetime(reader) {}
  }

  @Test("The clock of a mock drives the idle-read timeout of its streams")
  func idleReadTimeout() async throws {
    let mock = MockLoader(clock: clock)
    let held = mock.stream()
    var request = anyRequest()
    request.delivery = .stream(idleReadTimeout: .seconds(5))
    let response = try await mock.load(request).value

    clock.advance(by: .seconds(5))

    expectEqual(response.transfer.text, "bodyNotRead")
    withExtendedLifetime((response, held)) {}
  }

  @Test("The progress handler of the request is called as before, even after a timeout")
  func handler() {
    let (reports, held) = (Locked(0), mock.hold())
    var request = anyRequest()
    request.progress = { _ in reports.withLock { $0 += 1 } }
    let load = (Timeout(firstByte: .seconds(5), idle: .seconds(5), clock: clock) --> mock).load(request)

    held.report()
    held.report(progress(received: 10))
    clock.advance(by: .seconds(5))
    held.report(progress(received: 20))

    expectEqual(reports.value, 3)
    expectEqual(load.text, "timedOut")
    expectEqual(clock.timerCount, 0)
  }

  @Test("The transport reports no progress without a first-byte or idle timeout")
  func none() {
    mock.answer()
    _ = (Timeout(total: .seconds(1), attempt: .seconds(1), clock: clock) --> mock).load(anyRequest())

    expectEqual(mock.requests.map { $0.progress == nil }, [true])
  }

  @Test("A long-lived response retains no timer and no load")
  func released() {
    weak var watched: HeldAnswer?
    let held = mock.hold()
    watched = held
    let load = (Timeout(idle: .seconds(5), clock: clock) --> mock).load(anyRequest())

    held.answer()

    expectEqual(load.text, "success")
    expectEqual(clock.timerCount, 0)
    #expect(watched != nil)
    #expect(!held.report())
  }
}
