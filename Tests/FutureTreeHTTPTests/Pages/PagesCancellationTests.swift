import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Cancelling pages") struct PagesCancellationTests {
  private let mock = MockLoader()
  private let log = Recorder()

  private func pages(lookAhead: Int = 0) -> HTTPPages {
    mock.pages(NumberedPages.request(1), lookAhead: lookAhead, next: NumberedPages.next(log))
  }

  /// Makes the answers of the pages before `number`, and holds that page.
  private func hold(_ number: Int, whenCancelled: HeldAnswer.WhenCancelled = .continue) -> HeldAnswer {
    let held = mock.hold(.query("page", "\(number)"), whenCancelled: whenCancelled)
    mock.onOthers(NumberedPages.answer)
    return held
  }

  /// Checks that the page in flight received one request, and that no page follows it.
  private func expectCancelled(_ held: HeldAnswer, page number: Int, _ reason: String) {
    expectEqual(mock.cancelRequests.count, 1)
    expectEqual(held.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(held.cancelRequest?.reason.message.contains(reason), true)
    let logged = log.entries
    held.answer(body: "\(number)")
    expectEqual(mock.requests.count, number)
    expectEqual(log.entries, logged)
  }

  @Test("Leaving the loop cancels the page in flight", arguments: 1...4)
  func breaks(after number: Int) async {
    let held = hold(number + 2)

    let entries = await pages(lookAhead: 2).logged(upTo: number)

    expectEqual(entries, (1...number).map(String.init))
    expectCancelled(held, page: number + 2, "ended early")
  }

  @Test("Leaving the loop without look-ahead requests nothing", arguments: 1...3)
  func breaksBetweenPages(after number: Int) async {
    mock.onOthers(NumberedPages.answer)

    _ = await pages().logged(upTo: number)

    expectEqual(mock.requests.count, number)
    #expect(mock.cancelRequests.isEmpty)
    expectEqual(log.count, number - 1)
  }

  @Test("An error in the body of the loop cancels the page in flight")
  func bodyThrows() async {
    let held = hold(2)

    await #expect(throws: Oops.self) {
      for try await _ in pages(lookAhead: 1) { throw Oops() }
    }

    expectCancelled(held, page: 2, "ended early")
  }

  @Test("Dropping the iterator cancels the page in flight")
  func dropped() async throws {
    let held = hold(3)
    var iterator: HTTPPages.Iterator? = pages(lookAhead: 4).makeAsyncIterator()
    for _ in 1...2 { _ = try await iterator?.next() }
    #expect(mock.cancelRequests.isEmpty)

    iterator = nil

    expectCancelled(held, page: 3, "ended early")
  }

  @Test("Cancelling the iterating task cancels the page in flight", arguments: [0, 1, 3], [1, 2])
  func taskCancelled(lookAhead: Int, number: Int) async {
    let held = hold(number)
    let task = Task { [pages = pages(lookAhead: lookAhead)] in await pages.logged() }
    _ = await held.loaded.outcome

    task.cancel()

    await expectEqual(task.value, (1..<number).map(String.init) + ["CancellationError()"])
    expectCancelled(held, page: number, "task")
  }

  @Test("A cancelled task requests no page, and its iteration has ended")
  func cancelledBefore() async throws {
    mock.onOthers(NumberedPages.answer)
    let task = Task { [pages = pages()] in
      var iterator = pages.makeAsyncIterator()
      _ = try await iterator.next()
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { _ = try await iterator.next() }
      return try await iterator.next()
    }

    let last = try await task.value
    #expect(last == nil)
    expectEqual(mock.requests.count, 1)
    #expect(mock.cancelRequests.isEmpty)
  }

  @Test("A cancelled task cancels the pages that are loaded ahead")
  func cancelledAhead() async {
    let held = hold(2)
    let task = Task { [pages = pages(lookAhead: 1)] in
      var iterator = pages.makeAsyncIterator()
      _ = try await iterator.next()
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { _ = try await iterator.next() }
    }

    _ = await task.result

    expectCancelled(held, page: 2, "task")
  }

  @Test("The closure is not called with a page that arrives after the iteration", arguments: [false, true])
  func closureAfterTheEnd(confirms: Bool) async {
    let held = hold(2)
    _ = await pages(lookAhead: 3).logged(upTo: 1)

    if confirms { held.complete(.cancelled) } else { held.answer(body: "2") }

    expectEqual(log.entries, ["after 1"])
    expectEqual(mock.requests.count, 2)
  }

  @Test("Law 3 (other consumers): a load that another consumer awaits is not cancelled")
  func otherConsumer() async throws {
    let held = mock.hold()
    let api = Coalesce() --> mock
    let iterating = Task { [log] in
      try await api.pages(NumberedPages.request(1), next: NumberedPages.next(log)).first { _ in true }
    }
    _ = await held.loaded.outcome
    let other = api.load(NumberedPages.request(1))

    iterating.cancel()
    await #expect(throws: CancellationError.self) { _ = try await iterating.value }

    #expect(held.cancelRequest == nil)
    held.answer(body: "1")
    expectEqual(other.text, "success")
    expectEqual(mock.requests.count, 1)
    expectEqual(log.count, 0)
  }

  @Test("Two iterations are cancelled separately")
  func separately() async throws {
    let (first, second) = (mock.hold(), mock.hold())
    let task = Task { [pages = pages()] in await pages.logged(upTo: 1) }
    _ = await first.loaded.outcome
    let other = Task { [pages = pages()] in await pages.logged(upTo: 1) }
    _ = await second.loaded.outcome

    other.cancel()

    await expectEqual(other.value, ["CancellationError()"])
    #expect(second.cancelRequest != nil && first.cancelRequest == nil)
    first.answer(body: "1")
    await expectEqual(task.value, ["1"])
  }

  @Test("Random cancellations leave no page in flight", arguments: 0..<50)
  func random(seed: Int) async {
    let number = 1 + seed % 5
    let held = hold(number, whenCancelled: .complete)
    let task = Task { [pages = pages(lookAhead: seed % 4)] in await pages.logged() }
    if seed % 3 > 0 { _ = await held.loaded.outcome }

    task.cancel()
    let entries = await task.value

    expectEqual(entries.last, "CancellationError()")
    expectEqual(mock.pendingCount, 0)
    #expect(mock.requests.count <= number)
  }
}
