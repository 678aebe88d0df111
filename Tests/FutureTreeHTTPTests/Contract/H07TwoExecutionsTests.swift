import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H7: one load, one execution", .tags(.h07))
struct H07TwoExecutionsTests {
  private let mock = MockLoader()
  private let request = anyRequest("/twice")

  @Test("Cancelling one load leaves the other in flight")
  func cancelled() {
    let held = [mock.hold(), mock.hold()]
    let api = ResetGuard() --> Autocancel() --> mock
    let loads = [api.load(request), api.load(request)]

    loads[0].cancel()
    held[0].complete(.cancelled)
    held[1].answer()

    expectEqual(loads.map(\.text), ["cancelled", "success"])
  }

  @Test("A reset cancels both loads of one request")
  func reset() {
    let held = [mock.hold(whenCancelled: .complete), mock.hold(whenCancelled: .complete)]
    let api = ResetGuard() --> Autocancel() --> mock
    let loads = [api.load(request), api.load(request)]

    let reset = api.reset()

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(reset.text, "success")
    withExtendedLifetime(held) {}
  }

  @Test("Two tasks of one request have two ids and are cancelled separately")
  func tasks() {
    let held = mock.hold()
    let tasks = [mock.task(for: request), mock.task(for: request)]

    tasks[0].cancel()
    for task in tasks { task.start() }
    held.answer()

    #expect(tasks[0].id != tasks[1].id)
    expectEqual(tasks.map(\.future.text), ["cancelled", "success"])
    expectEqual(mock.requests.count, 1)
  }
}
