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

  @Test("at most so many at a time, and the values in the order of the items")
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
    "a failure or a cancellation stops what has not begun, and lets go of what has (law 23)", arguments: [true, false])
  func failure(isFailure: Bool) {
    let all = traverse(atMost: 2)

    if isFailure { promises[0].fail(Oops()) } else { promises[0].completeCancelled("gone") }
    promises[1].succeed("b")

    #expect(all.state == (isFailure ? "failure(oops)" : "cancelled"))
    #expect(log.entries == ["begins 0", "begins 1", "asked 1: ifOthers"])
  }

  @Test("a request goes to what is under way; what has not begun does not begin")
  func asked() {
    let all = traverse(atMost: 2)

    all.cancel(reason: "enough")
    promises[0].succeed("a")
    #expect(all.state == "pending")
    promises[1].succeed("b")

    #expect(all.reason?.message == "enough")
    #expect(log.entries == ["begins 0", "begins 1", "asked 0: plain", "asked 1: plain"] || log.count == 4)
  }

  @Test("asked when all have begun: their success stays one")
  func askedLate() {
    let all = traverse(atMost: 5)

    all.cancel()
    for (index, promise) in promises.enumerated() { promise.succeed("\(index)") }

    #expect(all.state == #"success(["0", "1", "2", "3", "4"])"#)
  }

  @Test("a body that throws fails its item; one that throws at once stops the others from beginning")
  func throwing() {
    let log = log
    let all = Future<Int>.traverse(0..<5, atMost: 3) { index in
      log("begins \(index)")
      throw Oops("\(index)")
    }

    #expect(all.state == "failure(0)")
    #expect(log.entries == ["begins 0"])
  }

  @Test("a body that waits for its executor does not begin when it is asked")
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

  @Test("a future that a running body returns is asked as well (law 8)")
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
    inner.completeCancelled()  // Otherwise the body holds the promise, and that the body.
  }

  @Test("of nothing it succeeds with nothing")
  func empty() {
    #expect(Future<Int>.traverse([Int](), atMost: 1) { .succeeded($0) }.state == "success([])")
  }

  @Test("a limit of 0 is an error that says where and what now", arguments: [0, -1])
  func limit(limit: Int) {
    let error = traverse(atMost: limit).outcomeIfCompleted?.error as? InvalidArgument

    #expect(error?.function == "traverse(_:atMost:)")
    #expect(error?.problem == "the limit is \(limit), so that nothing could begin. Pass 1 or more.")
    #expect(log.entries == [])
  }

  @Test("100,000 items that complete at once need no stack")
  func deep() {
    onSmallStack {
      let all = Future.traverse(0..<100_000, atMost: 3) { .succeeded($0) }

      #expect(all.map { $0 == Array(0..<100_000) }.state == "success(true)")
    }
  }

  @Test("it holds on to what is under way, not to what was")
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
    "a body that waits for its executor when the future ends does not begin",
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
