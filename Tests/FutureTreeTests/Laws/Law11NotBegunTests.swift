import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 11: bodies that have not begun", .tags(.law11))
struct Law11NotBegunTests {
  /// The operators whose body does not begin after a request, with a body that writes to a log.
  enum Body: String, CaseIterable, Sendable {
    case onSuccess, map, flatMap

    func attach(to future: Future<Int>, on executor: FutureExecutor, _ log: Recorder) -> Future<Int> {
      switch self {
      case .onSuccess: future.onSuccess(on: executor) { .succeeded(log("body", passing: $0)) }
      case .map: future.map(on: executor) { log("body", passing: $0) }
      case .flatMap: future.flatMap(on: executor) { .succeeded(log("body", passing: $0)) }
      }
    }
  }

  @Test(
    "A future asked to cancel while it waits completes cancelled, and its body does not start", arguments: Body.allCases
  )
  func whileItWaits(body: Body) {
    let log = Recorder()
    let promise = source(log)
    let derived = body.attach(to: promise.future, on: .immediate, log)
    derived.cancel(reason: "asked")
    expectEqual(derived.state, "pending")

    promise.succeed(1)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "cancelled")
    expectEqual(derived.reason?.message, "asked")
  }

  @Test("A failure passes through a future asked to cancel while it waits", arguments: Body.allCases)
  func failurePasses(body: Body) {
    let promise = Promise<Int>()
    let derived = body.attach(to: promise.future, on: .immediate, Recorder())
    derived.cancel()

    promise.fail(Oops())

    expectEqual(derived.state, "failure(oops)")
  }

  @Test("The body of a future asked to cancel while it waits does not run on its executor", arguments: Body.allCases)
  func neverQueued(body: Body) {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let derived = body.attach(to: promise.future, on: executor.executor, log)
    derived.cancel()

    promise.succeed(1)

    // "Where it would have run, the future completes": on its executor or without it, never with the body.
    executor.runAll()
    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, [])
  }

  static let politeOptions: [CancellationOptions] = [[], .doNotForwardIfOthersWaiting]
  static let everyOption: [CancellationOptions] = [
    [], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
  ]

  @Test("A body queued on an executor is cancelled when the request arrives", arguments: Body.allCases, everyOption)
  func queued(body: Body, options: CancellationOptions) {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = body.attach(to: .succeeded(1), on: executor.executor, log)
    expectEqual(derived.state, "pending")

    derived.cancel(options, reason: "asked")

    expectEqual(derived.state, "cancelled")
    expectEqual(derived.reason?.message, "asked")
    executor.runAll()
    expectEqual(log.entries, [])
  }

  @Test("A body queued on an executor is cancelled by a request from downstream too")
  func queuedAbove() {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = Future.succeeded(1).map(on: executor.executor) { log("body", passing: $0) }
    let tail = derived.map { $0 }.ensure {}

    tail.cancel()

    expectEqual([derived.state, tail.state], ["cancelled", "cancelled"])
    executor.runAll()
    expectEqual(log.entries, [])
  }

  @Test("recover that is asked while it waits passes the failure, and its body does not run")
  func recover() {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = promise.future.recover { _ in log("body", passing: 0) }
    derived.cancel()

    promise.fail(Oops())

    expectEqual(derived.state, "failure(oops)")
    expectEqual(log.entries, [])
  }

  @Test("recover that is asked to cancel passes a success")
  func recoverSuccess() {
    let promise = Promise<Int>()
    let derived = promise.future.recover { _ in 0 }
    derived.cancel()

    promise.succeed(1)

    expectEqual(derived.state, "success(1)")
  }

  @Test("recover that is queued on an executor passes the failure when the request arrives", arguments: politeOptions)
  func recoverQueued(options: CancellationOptions) {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = Future<Int>.failed(Oops()).recover(on: executor.executor) { _ in log("body", passing: 0) }

    derived.cancel(options)

    expectEqual(derived.state, "failure(oops)")
    executor.runAll()
    expectEqual(log.entries, [])
  }

  @Test("A request that only the upstream received does not stop the body")
  func ownRequest() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { log("body", passing: $0) }
    promise.future.cancel()

    promise.succeed(1)

    expectEqual(log.entries, ["source: plain", "body"])
    expectEqual(derived.state, "success(1)")
  }

  @Test("A request through several futures stops the body of each")
  func wholeBranch() {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = promise.future.map { log("middle", passing: $0) }
    let tail = middle.map { log("tail", passing: $0) }
    tail.cancel()

    promise.succeed(1)

    expectEqual([middle.state, tail.state], ["cancelled", "cancelled"])
    expectEqual(log.entries, [])
  }

  @Test("A withheld request does not stop the body")
  func withheld() {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = promise.future.map { log("middle", passing: $0) }.shared()
    let requester = middle.map { log("asker", passing: $0) }
    let other = middle.map { log("other", passing: $0) }
    requester.cancel()

    promise.succeed(1)

    expectEqual(log.entries, ["middle", "other"])
    expectEqual([middle.state, requester.state, other.state], ["success(1)", "cancelled", "success(1)"])
  }

  @Test("A body that has begun runs to its end, and its value is the outcome")
  func begun() {
    let executor = ManualExecutor()
    let box = Locked<Future<Int>?>(nil)
    let derived = Future.succeeded(1).map(on: executor.executor) { value in
      box.value?.cancel()
      return value + 1
    }
    box.value = derived

    executor.runAll()

    expectEqual(derived.state, "success(2)")
  }

  @Test("The body after a body that has begun does not start")
  func afterBegun() {
    let log = Recorder()
    let executor = ManualExecutor()
    let box = Locked<Future<Int>?>(nil)
    let first = Future.succeeded(1).map(on: executor.executor) { value in
      box.value?.cancel()
      return value + 1
    }
    let second = first.map { log("body", passing: $0) }
    box.value = second

    executor.runAll()

    expectEqual([first.state, second.state], ["success(2)", "cancelled"])
    expectEqual(log.entries, [])
  }

  @Test("The work of init(on:) that has not begun is cancelled when the request arrives", arguments: everyOption)
  func work(options: CancellationOptions) {
    let log = Recorder()
    let executor = ManualExecutor()
    let future = Future(on: executor.executor) { log("work", passing: 1) }

    future.cancel(options, reason: "asked")

    expectEqual(future.state, "cancelled")
    expectEqual(future.reason?.message, "asked")
    executor.runAll()
    expectEqual(log.entries, [])
  }

  @Test("A queued body that was cancelled is released although the executor retains its job")
  func queuedReleases() {
    let census = Census()
    let executor = ManualExecutor()
    func make(_ probe: Probe) -> Future<Int> {
      Future.succeeded(1).map(on: executor.executor) { value in
        probe.touch()
        return value
      }
    }
    let derived = make(census.probe())

    derived.cancel()

    expectEqual(census.alive, 0)
    expectEqual(derived.state, "cancelled")
  }
}
