import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
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

  @Test("a load is started, and its handler is called once with the outcome")
  func load() {
    let held = mock.hold()
    let task = begin()
    #expect(task.isStarted && outcomes.value.isEmpty)

    held.answer()

    #expect(outcomes.value == [.succeeded])
    #expect(task.future.outcomeIfCompleted?.ending == .succeeded)
  }

  @Test("the handler runs where it was said, and the task's future completes after it")
  func executor() {
    let executor = ManualExecutor()
    mock.answer()
    let task = begin(on: executor.executor)

    #expect(outcomes.value.isEmpty && !task.future.isCompleted)
    executor.runAll()

    #expect(outcomes.value == [.succeeded] && task.future.isCompleted)
  }

  @Test("a cancelled task calls the handler once", arguments: HTTPTaskTests.options)
  func cancel(options: CancellationOptions) {
    let held = mock.hold(whenCancelled: .complete)
    let task = begin()

    task.cancel(options)
    task.cancel()

    #expect(outcomes.value == [.cancelled])
    #expect((held.cancelRequest == nil) == (options == .doNotForwardRequest))
    held.complete(.cancelled)
  }

  @Test("the handler belongs to the task: only others keep a request from the load")
  func others() {
    let held = mock.hold(whenCancelled: .complete)
    let task = begin()
    let other = task.future.map { $0.status }

    #expect(task.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 1))
    other.cancel(.doNotForwardIfOthersWaiting)

    #expect(held.cancelRequest != nil)
    #expect(outcomes.value == [.cancelled])
  }

  @Test("a handler on the main actor")
  @MainActor func main() async {
    mock.answer()
    var ending: Ending?

    let task = mock.load(request, on: .main) { outcome in
      MainActor.assertIsolated()
      ending = outcome.ending
    }
    _ = await task.future.outcome

    #expect(ending == .succeeded)
  }

  @Test("a reset calls its handler when it is done")
  func reset() {
    let held = mock.hold()
    _ = begin()

    let reset = mock.reset { [outcomes] outcome in outcomes.withLock { $0.append(outcome.ending) } }
    #expect(outcomes.value.isEmpty && !reset.isCompleted)
    held.complete(.cancelled)

    #expect(outcomes.value == [.cancelled, .succeeded])
    #expect(reset.isCompleted)
  }

  @Test("a reset with a handler on the main actor")
  @MainActor func resetOnMain() async {
    var isDone = false

    let reset = mock.reset(on: .main) { _ in isDone = true }
    _ = await reset.outcome

    #expect(isDone)
  }
}
