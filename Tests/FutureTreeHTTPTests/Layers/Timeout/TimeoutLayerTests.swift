import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Timeout") struct TimeoutLayerTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func api(
    total: Duration? = nil, attempt: Duration? = nil, firstByte: Duration? = nil, idle: Duration? = nil
  ) -> any HTTPLoader {
    Timeout(total: total, attempt: attempt, firstByte: firstByte, idle: idle, clock: clock) --> mock
  }

  private func message(_ future: Future<HTTPResponse>) -> String? {
    guard case .failure(let error as HTTPError) = future.outcomeIfCompleted else { return nil }
    return error.message
  }

  private func request(deadline: Duration) -> HTTPRequest {
    var request = anyRequest()
    request.deadline = FutureDeadline(deadline, of: clock)
    return request
  }

  /// The report of a transport: the head, or one piece of a body.
  private func progress(sent: Int = 0, received: Int = 0) -> HTTPProgress {
    HTTPProgress(sent: .init(completed: sent), received: .init(completed: received))
  }

  @Test(
    "Each timeout ends its load with a specific error and cancels the next load",
    arguments: [
      (
        0, "deadlineExceeded",
        "GET http://example.com/ did not complete by its deadline, 5 s after the load began."
      ),
      (1, "timedOut", "GET http://example.com/ did not complete within 5 s."),
      (2, "timedOut", "The response to GET http://example.com/ did not begin within 5 s."),
      (3, "timedOut", "Nothing was sent or received for GET http://example.com/ within 5 s."),
    ])
  func kinds(kind: Int, code: String, message: String) {
    let times = (0..<4).map { $0 == kind ? Duration.seconds(5) : nil }
    let api = api(total: times[0], attempt: times[1], firstByte: times[2], idle: times[3])
    let held = mock.hold()
    let load = api.load(anyRequest())

    clock.advance(by: .milliseconds(4999))
    expectEqual(load.text, "pending")
    #expect(held.cancelRequest == nil)
    clock.advance(by: .milliseconds(1))

    expectEqual(load.text, code)
    expectEqual(self.message(load)?.hasPrefix(message + " "), true)
    let reason = held.cancelRequest?.reason
    expectEqual(reason?.message, "timed out: \(message)")
    expectEqual(reason?.kind, kind == 0 ? .deadline : .timeout)
    expectEqual((reason?.cause as? HTTPError)?.code.description, code)
    held.complete(.cancelled)
    expectEqual(load.text, code)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.pendingCount, 0)
  }

  /// A loader that blocks until a time has passed, and then returns a completed future.
  private struct BlockingLoader: HTTPLoader {
    let clock: ManualClock

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      clock.advance(by: .seconds(2))
      return .succeeded(HTTPResponse(to: request, status: .ok))
    }

    func reset() -> Future<Void> { .succeeded(()) }
  }

  @Test("A response that a loader returns after the timeout is too late", arguments: [true, false])
  func returnsLate(isInBody: Bool) {
    let api = Timeout(attempt: .seconds(1), clock: clock) --> BlockingLoader(clock: clock)

    let load = isInBody ? Future.succeeded(()).flatMap { api.load(anyRequest()) } : api.load(anyRequest())

    expectEqual(load.text, "timedOut")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A response in time passes, and no timer is left", arguments: [true, false])
  func inTime(isSynchronous: Bool) {
    let api = api(total: .seconds(1), attempt: .seconds(1), firstByte: .seconds(1), idle: .seconds(1))
    if isSynchronous { mock.answer() }
    let held = isSynchronous ? nil : mock.hold()
    let load = api.load(anyRequest())
    expectEqual(clock.timerCount, isSynchronous ? 0 : 4)

    held?.answer()

    expectEqual(load.text, "success")
    expectEqual(clock.timerCount, 0)
  }

  @Test(
    "A failure and a cancellation of the next loader pass",
    arguments: [.failure(Oops()), .cancelled] as [Completion<HTTPResponse>])
  func otherEnds(completion: Completion<HTTPResponse>) {
    let held = mock.hold()
    let load = api(total: .seconds(1), idle: .seconds(1)).load(anyRequest())

    held.complete(completion)

    #expect(["oops", "cancelled"].contains(load.text))
    expectEqual(clock.timerCount, 0)
  }

  @Test("A response after the timeout is dropped")
  func late() {
    let held = mock.hold()
    let load = api(attempt: .seconds(1)).load(anyRequest())

    clock.advance(by: .seconds(1))
    held.answer()

    expectEqual(load.text, "timedOut")
    expectEqual(mock.pendingCount, 0)
    expectEqual(clock.timerCount, 0)
  }

  @Test("The timeout is the outcome even if the next load completes when cancelled")
  func wins() {
    let held = mock.hold(whenCancelled: .complete)
    let load = api(attempt: .seconds(1)).load(anyRequest())

    clock.advance(by: .seconds(1))

    expectEqual(load.text, "timedOut")
    #expect(held.isCompleted)
  }

  @Test("A timeout of zero or less fails at once, and nothing is loaded", arguments: [Duration.zero, .seconds(-1)])
  func noTime(duration: Duration) {
    let codes = [
      api(total: duration), api(attempt: duration), api(firstByte: duration), api(idle: duration),
    ].map { $0.load(anyRequest()).text }

    expectEqual(codes, ["deadlineExceeded", "timedOut", "timedOut", "timedOut"])
    #expect(mock.requests.isEmpty)
    expectEqual(clock.timerCount, 0)
  }

  @Test("Very long timeouts never pass", arguments: [Duration.seconds(Int64.max), .seconds(1e18)])
  func huge(duration: Duration) {
    let held = mock.hold()
    let load = api(total: duration, attempt: duration, firstByte: duration, idle: duration).load(anyRequest())
    expectEqual(clock.timerCount, 4)

    clock.advance(by: .seconds(365 * 86_400))
    held.answer()

    expectEqual(load.text, "success")
    expectEqual(clock.timerCount, 0)
  }
}
