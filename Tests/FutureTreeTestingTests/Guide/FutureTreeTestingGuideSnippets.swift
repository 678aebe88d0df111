import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the landing page, word for word. `TestingGuideTests` compares the two.
@Suite("Guide: FutureTreeTesting")
struct FutureTreeTestingGuideSnippets {
  private let print = Transcript()
  private let clock = ManualClock()

  @Test("A manual executor")
  func executor() {
    // guide executor
    let (page, executor) = (Promise<String>(), ManualExecutor())
    let title = page.future.map(on: executor.executor) { $0.uppercased() }
    let size = page.future.map(on: executor.executor) { $0.count }
    page.succeed("a page")

    print(executor.pendingCount)  // 2; both bodies are queued
    executor.runNext(at: 1)
    print(title.isCompleted, size.isCompleted)  // false true
    title.cancel(reason: "the tab was closed")
    executor.runAll()
    title.observe { print($0.ending) }  // cancelled; its body did not run
    // end

    #expect(print.lines == ["2", "false true", "cancelled"])
  }

  @Test("A manual clock")
  func time() {
    // guide clock
    let answer = Promise<String>()
    let page = answer.future.timeout(after: .seconds(5), clock: clock)

    print(clock.timerCount, clock.nextDeadline ?? .zero)  // 1 5.0 seconds
    clock.advance(by: .seconds(4))
    print(page.isCompleted)  // false
    clock.advanceToNextTimer()
    page.onFailure { print($0 is TimeoutError) }  // true
    // end

    #expect(
      print.lines == [
        "1 5.0 seconds", "false", "true",
      ])
  }
}
