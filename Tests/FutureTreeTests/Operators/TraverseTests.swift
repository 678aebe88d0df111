import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: traverse")
struct TraverseTests {
  private let promises = (0..<5).map { _ in Promise<String>() }
  private let log = Recorder()

  private func traverse(atMost limit: Int, on executor: FutureExecutor = .immediate) -> Future<[String]> {
    Future.traverse(0..<5, atMost: limit, on: executor) { [log, promises] index in
      log("begins \(index)")
      promises[index].onRequestCancel { request in
        log("asked \(index): \(request.options.text)")
        return .continue
      }
      return promises[index].future
    }
  }

  @Test("The limit bounds the futures in flight, and the values have the order of the items")
  func bounded() {
    let all = traverse(atMost: 2)

    #expect(log.entries == ["begins 0", "begins 1"])
    promises[1].succeed("b")
    #expect(log.entries.last == "begins 2")
    promises[2].succeed("c")
    promises[0].succeed("a")
    #expect(log.entries == (0..<5).map { "begins \($0)" })
    promises[4].succeed("e")
    promises[3].succeed("d")

    #expect(all.state == #"success(["a", "b", "c", "d", "e"])"#)
  }

  @Test(
    "The first failure or cancellation detaches from the futures in flight (law 23, deciding detaches)",
    arguments: [true, false])
  func failure(isFailure: Bool) {
    let all = traverse(atMost: 2)

    if isFailure { promises[0].fail(Oops()) } else { promises[0].completeCancelled("gone") }
    promises[1].succeed("b")

    #expect(all.state == (isFailure ? "failure(oops)" : "cancelled"))
    #expect(log.entries == ["begins 0", "begins 1", "asked 1: ifOthers"])
  }

  @Test("A request is forwarded to the futures in flight, and no further item begins")
  func asked() {
    let all = traverse(atMost: 2)

    all.cancel(reason: "enough")
    promises[0].succeed("a")
    #expect(all.state == "pending")
    promises[1].succeed("b")

    #expect(all.reason?.message == "enough")
    #expect(log.entries == ["begins 0", "begins 1", "asked 0: plain", "asked 1: plain"] || log.count == 4)
  }

  @Test("traverse succeeds if all items had begun before the request and succeed")
  func askedLate() {
    let all = traverse(atMost: 5)

    all.cancel()
    for (index, promise) in promises.enumerated() { promise.succeed("\(index)") }

    #expect(all.state == #"success(["0", "1", "2", "3", "4"])"#)
  }

  @Test("A body that throws fails the traversal, and no further item begins")
  func throwing() {
    let log = log
    let all = Future<Int>.traverse(0..<5, atMost: 3) { index in
      log("begins \(index)")
      throw Oops("\(index)")
    }

    #expect(all.state == "failure(0)")
    #expect(log.entries == ["begins 0"])
  }

  @Test("A queued body does not begin after a request")
  func onExecutor() {
    let executor = ManualExecutor()
    let all = traverse(atMost: 2, on: executor.executor)

    executor.runNext()
    all.cancel()
    executor.runAll()
    promises[0].succeed("a")

    #expect(log.entries == ["begins 0", "asked 0: plain"])
    #expect(all.state == "cancelled")
  }

  @Test("A request while a body runs is forwarded to the future that it returns (law 8, no request is lost)")
  func askedWhileBodyRuns() {
    let log = log
    let inner = source(log, "inner")
    let box = Locked<Future<[Int]>?>(nil)
    let executor = ManualExecutor()
    box.value = Future.traverse([1], atMost: 1, on: executor.executor) { _ in
      box.value?.cancel()
      return inner.future
    }

    executor.runAll()

    #expect(log.entries == ["inner: plain"])
    #expect(box.value?.state == "pending")
    inner.completeCancelled()  // Otherwise the body and the promise retain each other.
  }

  @Test("traverse of no items succeeds with an empty array")
  func empty() {
    #expect(Future<Int>.traverse([Int](), atMost: 1) { .succeeded($0) }.state == "success([])")
  }

  @Test("A limit below 1 fails with an error that states place and remedy", arguments: [0, -1])
  func limit(limit: Int) {
    let error = traverse(atMost: limit).outcomeIfCompleted?.error as? InvalidArgument

    #expect(error?.function == "traverse(_:atMost:)")
    #expect(error?.problem == "the limit is \(limit). Pass at least 1.")
    #expect(log.entries == [])
  }

  @Test("100,000 items that complete at once run in constant stack space")
  func deep() {
    onSmallStack {
      let all = Future.traverse(0..<100_000, atMost: 3) { .succeeded($0) }

      #expect(all.map { $0 == Array(0..<100_000) }.state == "success(true)")
    }
  }

  @Test("traverse retains the futures in flight, not the completed ones")
  func holds() {
    let census = Census()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let all = Future.traverse([first, second], atMost: 1) { promise in
      promise.future.map { [probe = census.probe()] value -> Int in
        probe.touch()
        return value
      }
    }

    first.succeed(1)
    #expect(census.alive == 1)
    all.cancel(.forceImmediately)
    second.succeed(2)

    #expect(census.alive == 0)
  }

  @Test(
    "A body queued on its executor does not begin after the future has completed",
    arguments: [.doNotForwardRequest, .forceImmediately, [.doNotForwardRequest, .forceImmediately]]
      as [CancellationOptions])
  func queuedBodies(options: CancellationOptions) {
    let (executor, begun) = (ManualExecutor(), Locked(0))
    let future = Future.traverse([1, 2, 3], atMost: 2, on: executor.executor) { number in
      begun.withLock { $0 += 1 }
      return .succeeded(number)
    }

    future.cancel(options)
    executor.runAll()

    #expect(begun.value == 0 && future.outcomeIfCompleted?.ending == .cancelled)
  }
}
