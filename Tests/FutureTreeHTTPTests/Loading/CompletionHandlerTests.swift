import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Completion handlers") struct CompletionHandlerTests {
  private let mock = MockLoader()
  private let request: HTTPRequest
  private let outcomes = Locked<[Ending]>([])

  init() throws {
    request = try HTTPRequest("http://example.com/")
  }

  private func begin(on executor: FutureExecutor = .immediate) -> HTTPTask {
    mock.load(request, on: executor) { [outcomes] outcome in outcomes.withLock { $0.append(outcome.ending) } }
  }

  @Test("A load starts, and its handler is called once with the outcome")
  func load() {
    let held = mock.hold()
    let task = begin()
    #expect(task.isStarted && outcomes.value.isEmpty)

    held.answer()

    expectEqual(outcomes.value, [.succeeded])
    expectEqual(task.future.outcomeIfCompleted?.ending, .succeeded)
  }

  @Test("The handler runs on its executor, and the task's future completes after it")
  func executor() {
    let executor = ManualExecutor()
    mock.answer()
    let task = begin(on: executor.executor)

    #expect(outcomes.value.isEmpty && !task.future.isCompleted)
    executor.runAll()

    expectEqual(outcomes.value, [.succeeded])
    #expect(task.future.isCompleted)
  }

  @Test("A cancelled task calls its handler once", arguments: HTTPTaskTests.options)
  func cancel(options: CancellationOptions) {
    let held = mock.hold(whenCancelled: .complete)
    let task = begin()

    task.cancel(options)
    task.cancel()

    expectEqual(outcomes.value, [.cancelled])
    #expect((held.cancelRequest == nil) == (options == .doNotForwardRequest))
    held.complete(.cancelled)
  }

  @Test("The handler is not a consumer of its own: only other consumers withhold a request")
  func others() {
    let held = mock.hold(whenCancelled: .complete)
    let task = begin()
    let other = task.future.map { $0.status }

    expectEqual(task.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    other.cancel(.doNotForwardIfOthersWaiting)

    #expect(held.cancelRequest != nil)
    expectEqual(outcomes.value, [.cancelled])
  }

  @Test("A handler can run on the main actor")
  @MainActor func main() async {
    mock.answer()
    var ending: Ending?

    let task = mock.load(request, on: .main) { outcome in
      MainActor.assertIsolated()
      ending = outcome.ending
    }
    _ = await task.future.outcome

    expectEqual(ending, .succeeded)
  }

  @Test("A reset calls its handler on completion")
  func reset() {
    let held = mock.hold()
    _ = begin()

    let reset = mock.reset { [outcomes] outcome in outcomes.withLock { $0.append(outcome.ending) } }
    #expect(outcomes.value.isEmpty && !reset.isCompleted)
    held.complete(.cancelled)

    expectEqual(outcomes.value, [.cancelled, .succeeded])
    #expect(reset.isCompleted)
  }

  @Test("The handler of a reset can run on the main actor")
  @MainActor func resetOnMain() async {
    var isDone = false

    let reset = mock.reset(on: .main) { _ in isDone = true }
    _ = await reset.outcome

    #expect(isDone)
  }
}
