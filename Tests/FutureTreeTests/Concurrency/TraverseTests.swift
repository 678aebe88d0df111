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

    expectEqual(log.entries, ["begins 0", "begins 1"])
    promises[1].succeed("b")
    expectEqual(log.entries.last, "begins 2")
    promises[2].succeed("c")
    promises[0].succeed("a")
    expectEqual(log.entries, (0..<5).map { "begins \($0)" })
    promises[4].succeed("e")
    promises[3].succeed("d")

    expectEqual(all.state, #"success(["a", "b", "c", "d", "e"])"#)
  }

  @Test(
    "The first failure or cancellation detaches from the futures in flight (law 23, deciding detaches)", .tags(.law23),
    arguments: [true, false])
  func failure(isFailure: Bool) {
    let all = traverse(atMost: 2)

    if isFailure { promises[0].fail(Oops()) } else { promises[0].completeCancelled("gone") }
    promises[1].succeed("b")

    expectEqual(all.state, (isFailure ? "failure(oops)" : "cancelled"))
    expectEqual(log.entries, ["begins 0", "begins 1", "asked 1: ifOthers"])
  }

  @Test("A request is forwarded to the futures in flight, and no further item begins")
  func asked() {
    let all = traverse(atMost: 2)

    all.cancel(reason: "enough")
    promises[0].succeed("a")
    expectEqual(all.state, "pending")
    promises[1].succeed("b")

    expectEqual(all.reason?.message, "enough")
    #expect(log.entries == ["begins 0", "begins 1", "asked 0: plain", "asked 1: plain"] || log.count == 4)
  }

  @Test(
    "traverse that was asked completes when all futures in flight have completed, whatever their outcomes",
    arguments: [Outcome<String>.success("a"), .failure(Oops()), .cancelled("gone")],
    [Outcome<String>.success("b"), .failure(Oops()), .cancelled("gone")])
  func askedWaitsForAll(first: Outcome<String>, second: Outcome<String>) {
    let all = traverse(atMost: 2)

    all.cancel(reason: "enough")
    promises[0].complete(with: first)
    expectEqual(all.state, "pending")
    promises[1].complete(with: second)

    let isCancelled = first.ending == .cancelled || second.ending == .cancelled
    expectEqual(all.reason?.message, isCancelled ? "gone" : "enough")
    expectEqual(log.entries.prefix(2), ["begins 0", "begins 1"])
    expectEqual(log.count, 4)
  }

  @Test("traverse that was asked waits for its futures in flight also if a queued item is cancelled at once")
  func askedWhileQueued() {
    let executor = ManualExecutor()
    let all = traverse(atMost: 2, on: executor.executor)
    executor.runNext()

    all.cancel()
    expectEqual(all.state, "pending")
    promises[0].succeed("a")

    expectEqual(all.state, "cancelled")
  }

  @Test("In every order of outcomes and request, traverse ends as its table says")
  func everyOrder() {
    for count in 1...3 {
      for limit in 1...3 { TraversalTrial.every(count: count, limit: limit) }
    }
  }

  @Test("traverse succeeds if all items had begun before the request and succeed")
  func askedLate() {
    let all = traverse(atMost: 5)

    all.cancel()
    for (index, promise) in promises.enumerated() { promise.succeed("\(index)") }

    expectEqual(all.state, #"success(["0", "1", "2", "3", "4"])"#)
  }

  @Test("A body that throws fails the traversal, and no further item begins")
  func throwing() {
    let log = log
    let all = Future<Int>.traverse(0..<5, atMost: 3) { index in
      log("begins \(index)")
      throw Oops("\(index)")
    }

    expectEqual(all.state, "failure(0)")
    expectEqual(log.entries, ["begins 0"])
  }

  @Test("A queued body does not begin after a request")
  func onExecutor() {
    let executor = ManualExecutor()
    let all = traverse(atMost: 2, on: executor.executor)

    executor.runNext()
    all.cancel()
    executor.runAll()
    promises[0].succeed("a")

    expectEqual(log.entries, ["begins 0", "asked 0: plain"])
    expectEqual(all.state, "cancelled")
  }

  @Test(
    "A request while a body runs is forwarded to the future that it returns (law 8, no request is lost)", .tags(.law08))
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

    expectEqual(log.entries, ["inner: plain"])
    expectEqual(box.value?.state, "pending")
    inner.completeCancelled()  // Otherwise the body and the promise retain each other.
  }

  @Test("traverse of no items succeeds with an empty array")
  func empty() {
    expectEqual(Future<Int>.traverse([Int](), atMost: 1) { .succeeded($0) }.state, "success([])")
  }

  @Test("A limit below 1 fails with an error that states place and remedy", arguments: [0, -1])
  func limit(limit: Int) {
    let error = traverse(atMost: limit).outcomeIfCompleted?.error as? InvalidArgument

    expectEqual(error?.function, "traverse(_:atMost:)")
    expectEqual(error?.problem, "the limit is \(limit). Pass at least 1.")
    expectEqual(log.entries, [])
  }

  @Test("100,000 items that complete at once run in constant stack space")
  func deep() {
    onSmallStack {
      let all = Future.traverse(0..<100_000, atMost: 3) { .succeeded($0) }

      expectEqual(all.map { $0 == Array(0..<100_000) }.state, "success(true)")
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
    expectEqual(census.alive, 1)
    all.cancel(.forceImmediately)
    second.succeed(2)

    expectEqual(census.alive, 0)
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

    expectEqual(begun.value, 0)
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }
}

/// One traversal, whose futures in flight complete in every order, with every outcome, and which is asked at every point. The
/// expected state is stated independently of the library.
private struct TraversalTrial {
  private let promises: [Promise<Int>]
  private let all: Future<[Int]>
  private let limit: Int
  private var endings: [Int: Ending] = [:]
  private var begun: Int
  private var isAsked = false
  private var decided: Ending?

  /// Runs all programs. A step is a number of a future in flight and its ending, or the request.
  static func every(count: Int, limit: Int) {
    var programs: [[Step]] = [[]]
    while let program = programs.popLast() {
      var trial = TraversalTrial(count: count, limit: limit)
      for step in program { trial.perform(step) }
      expectEqual(trial.all.outcomeIfCompleted?.ending, trial.expected, "\(count) items, at most \(limit): \(program)")
      programs += trial.steps.map { program + [$0] }
      for promise in trial.promises { promise.completeCancelled() }
    }
  }

  enum Step {
    case ends(Int, Ending)
    case asks
  }

  private init(count: Int, limit: Int) {
    let promises = (0..<count).map { _ in Promise<Int>() }
    for promise in promises { promise.onRequestCancel { _ in .continue } }
    all = Future<Int>.traverse(0..<count, atMost: limit) { promises[$0].future }
    self.promises = promises
    self.limit = limit
    begun = min(count, limit)
  }

  private var inFlight: [Int] { (0..<begun).filter { endings[$0] == nil } }

  private var steps: [Step] {
    if expected != nil { return [] }
    let ends = inFlight.flatMap { item in
      [Ending.succeeded, .failed, .cancelled].map { Step.ends(item, $0) }
    }
    return isAsked ? ends : ends + [.asks]
  }

  private mutating func perform(_ step: Step) {
    switch step {
    case .asks:
      isAsked = true
      all.cancel()
    case .ends(let item, let ending):
      endings[item] = ending
      switch ending {
      case .succeeded:
        promises[item].succeed(item)
        if !isAsked, begun < promises.count { begun += 1 }
      case .failed: promises[item].fail(Oops())
      case .cancelled: promises[item].completeCancelled()
      }
      if !isAsked, ending != .succeeded { decided = ending }
    }
  }

  private var expected: Ending? {
    if let decided { return decided }
    guard inFlight.isEmpty else { return nil }
    return endings.count == promises.count && endings.values.allSatisfy { $0 == .succeeded } ? .succeeded : .cancelled
  }
}
