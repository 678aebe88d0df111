import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

// Callers that detach, join late, or receive progress.

extension CoalesceTests {
  // MARK: Detaching

  @Test(
    "Some callers detach: they end at once, and the others get the response",
    arguments: [[], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately] as [CancellationOptions])
  func someDetach(options: CancellationOptions) {
    let held = mock.hold()
    let loads = (0..<5).map { _ in api.load(anyRequest()) }

    for number in [0, 2, 4] { loads[number].cancel(options) }

    expectEqual(loads.map(\.text), ["cancelled", "pending", "cancelled", "pending", "cancelled"])
    #expect(mock.cancelRequests.isEmpty && held.cancelRequest == nil)
    held.answer()
    expectEqual(loads.map(\.text), ["cancelled", "success", "cancelled", "success", "cancelled"])
    expectNothingLeft()
  }

  @Test(
    "All callers detach: the load is cancelled once, and the last caller waits unless it forces its end",
    arguments: [[], .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func allDetach(options: CancellationOptions) {
    let held = mock.hold()
    let loads = (0..<3).map { _ in api.load(anyRequest()) }

    for load in loads { load.cancel(options, reason: "done") }

    let last = options == .forceImmediately ? "cancelled" : "pending"
    expectEqual(loads.map(\.text), ["cancelled", "cancelled", last])
    expectEqual(mock.cancelRequests.count, 1)
    expectEqual(held.cancelRequest?.reason.message, "done")
    held.complete(.cancelled)
    #expect(loads.allSatisfy { $0.text == "cancelled" })
    expectEqual(mock.cancelRequests.count, 1)
    expectNothingLeft()
  }

  @Test("The last caller detaches without a request: the load continues for a caller that joins")
  func lastDetaches() {
    let held = mock.hold()
    let first = api.load(anyRequest())
    first.cancel(.doNotForwardRequest)

    let second = api.load(anyRequest())
    held.answer()

    expectEqual([first, second].map(\.text), ["cancelled", "success"])
    expectEqual(mock.requests.count, 1)
    expectNothingLeft()
  }

  @Test("A caller that arrives while the load is being cancelled starts another load")
  func comesLater() {
    let held = [mock.hold(), mock.hold()]
    let first = api.load(anyRequest())
    first.cancel()

    let second = api.load(anyRequest())

    #expect(mock.requests.count == 2 && held[1].cancelRequest == nil)
    held[1].answer()
    held[0].complete(.cancelled)
    expectEqual([first, second].map(\.text), ["cancelled", "success"])
    expectNothingLeft()
  }

  @Test("A caller may load the same request again in its completion callback")
  func reentrant() {
    let held = [mock.hold(), mock.hold()]
    let second = Locked<Future<HTTPResponse>?>(nil)
    let first = api.load(anyRequest())
    first.observe { [api] _ in second.value = api.load(anyRequest()) }

    held[0].answer()
    expectEqual(mock.requests.count, 2)
    expectEqual(second.value?.text, "pending")
    held[1].answer()

    expectEqual(second.value?.text, "success")
    second.value = nil
    expectNothingLeft()
  }

  // MARK: Deadlines

  private func request(within duration: Duration) -> HTTPRequest {
    var request = anyRequest()
    request.deadline = .after(duration, clock: clock)
    return request
  }

  @Test("A deadline ends only the load of its caller")
  func deadline() {
    let held = mock.hold()
    let loads = [request(within: .seconds(1)), anyRequest(), request(within: .seconds(9))].map { api.load($0) }
    #expect(mock.requests.count == 1 && mock.requests[0].deadline == nil)

    clock.advance(by: .seconds(1))
    expectEqual(loads.map(\.text), ["deadlineExceeded", "pending", "pending"])
    #expect(held.cancelRequest == nil)
    held.answer()

    expectEqual(loads.map(\.text), ["deadlineExceeded", "success", "success"])
    expectNothingLeft()
  }

  @Test("The load is cancelled when all deadlines have passed, and a passed deadline starts no load")
  func allDeadlines() {
    let held = mock.hold()
    let loads = [request(within: .seconds(1)), request(within: .seconds(2))].map { api.load($0) }

    clock.advance(by: .seconds(2))

    expectEqual(loads.map(\.text), ["deadlineExceeded", "deadlineExceeded"])
    expectEqual(mock.cancelRequests.count, 1)
    held.complete(.cancelled)
    expectEqual(api.load(request(within: .zero)).text, "deadlineExceeded")
    expectEqual(mock.requests.count, 1)
    expectNothingLeft()
  }

  @Test("A timeout error of the next loader is not reported as a passed deadline")
  func errorFromBehind() {
    mock.fail(TimeoutError(duration: .seconds(1)))

    let load = api.load(request(within: .seconds(5)))

    expectEqual(load.text, "\(TimeoutError(duration: .seconds(1)))")
    expectNothingLeft()
  }

  // MARK: Progress

  private func request(_ log: Recorder, _ name: String) -> HTTPRequest {
    var request = anyRequest()
    request.progress = { log("\(name) \($0.received.completed)") }
    return request
  }

  @Test("Every caller receives progress from its arrival to its end")
  func progress() throws {
    let (log, held) = (Recorder(), mock.hold())
    let first = api.load(request(log, "first"))
    let silent = api.load(anyRequest())
    let reportProgress = try #require(mock.requests[0].progress)
    func report(_ count: Int) { reportProgress(HTTPProgress(received: .init(completed: count, total: 9))) }

    report(1)
    let second = api.load(request(log, "second"))
    report(2)
    first.cancel()
    report(3)
    held.answer()
    report(4)

    expectEqual(log.entries, ["first 1", "first 2", "second 2", "second 3"])
    expectEqual([first, silent, second].map(\.text), ["cancelled", "success", "success"])
    expectNothingLeft()
  }

  @Test("The first caller receives progress that is reported while the load begins")
  func progressAtOnce() {
    let log = Recorder()
    mock.answer { request in
      request.progress?(HTTPProgress(received: .init(completed: 7)))
      return HTTPResponse(to: request, status: .ok)
    }

    let load = api.load(request(log, "first"))

    expectEqual(load.text, "success")
    expectEqual(log.entries, ["first 7"])
    expectNothingLeft()
  }

  @Test("A load that is being cancelled reports no progress to the callers of the next load")
  func progressOfTheOld() throws {
    let (log, held) = (Recorder(), [mock.hold(), mock.hold()])
    let first = api.load(request(log, "first"))
    first.cancel()
    let second = api.load(request(log, "second"))
    let handlers = try mock.requests.map { try #require($0.progress) }

    handlers[0](HTTPProgress(received: .init(completed: 99)))
    handlers[1](HTTPProgress(received: .init(completed: 1)))
    held[0].complete(.cancelled)
    held[1].answer()

    expectEqual(log.entries.filter { $0.hasPrefix("second") }, ["second 1"])
    expectEqual([first, second].map(\.text), ["cancelled", "success"])
    expectNothingLeft()
  }

  @Test("Progress handlers may detach and join")
  func progressReentrant() throws {
    let held = mock.hold()
    let loads = Locked<[Future<HTTPResponse>]>([])
    var request = anyRequest()
    request.progress = { [api] _ in
      loads.withLock { $0.first }?.cancel()
      let another = api.load(anyRequest())
      loads.withLock { $0.append(another) }
    }
    loads.value = [api.load(request)]

    let reportProgress = try #require(mock.requests[0].progress)
    _ = api.load(anyRequest())
    reportProgress(HTTPProgress())
    held.answer()

    expectEqual(loads.value.map(\.text), ["cancelled", "success"])
    expectEqual(mock.requests.count, 1)
    loads.value = []
    expectNothingLeft()
  }

  // MARK: Reset

  @Test("A load from before a reset is not joined after it, and the reset is forwarded")
  func reset() {
    let end = HeldResets()
    let api = coalesce --> end
    let held = [end.mock.hold(), end.mock.hold()]
    let before = api.load(anyRequest())

    let reset = api.reset()
    let after = api.load(anyRequest())

    expectEqual(end.resetCount, 1)
    expectEqual(end.mock.requests.count, 2)
    end.endReset()
    held[0].answer()
    held[1].answer()
    expectEqual([before, after].map(\.text), ["success", "success"])
    expectEqual(reset.text, "success")
    expectNothingLeft()
  }

  @Test("Behind a guard and `Autocancel`, a reset cancels every caller, and the shared load once")
  func resetOfChain() {
    let end = HeldResets()
    let api = ResetGuard() --> Autocancel(clock: clock) --> coalesce --> end
    let held = end.mock.hold()
    let loads = (0..<3).map { _ in api.load(anyRequest()) }

    let reset = api.reset()
    expectEqual(end.mock.cancelRequests.count, 1)
    expectEqual(end.resetCount, 0)
    held.complete(.cancelled)
    end.endReset()

    #expect(loads.allSatisfy { $0.text == "cancelled" })
    expectEqual(reset.text, "success")
    expectNothingLeft()
  }
}
