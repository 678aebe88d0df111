import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The progress of `outer.flatMap(on: executor) { inner }` when the request arrives.
enum Point: String, CaseIterable, Sendable {
  case waiting, queued, running, linked, completed
}

@Suite("Laws 2 to 11: a request at every point of a future's life")
struct CancelAtEveryPointTests {
  static let everyOption: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
  ]

  /// The expected state right after the request, and the requests that the two sources receive.
  static func expected(_ point: Point, _ options: CancellationOptions, shared: Bool) -> (state: String, log: [String]) {
    let waitsOn = point == .waiting ? "outer" : "inner"
    switch (point, options) {
    case (.completed, _): return ("success(2)", [])
    case (.queued, _): return ("cancelled", [])
    case (_, .doNotForwardRequest): return ("cancelled", [])
    case (_, .forceImmediately): return ("cancelled", ["\(waitsOn): plain"])
    case (_, .doNotForwardIfOthersWaiting) where shared: return ("cancelled", [])
    default: return ("pending", ["\(waitsOn): \(options.text)"])
    }
  }

  @Test(
    "A request at each point, with each option, has its effect, with and without another consumer upstream",
    arguments: Point.allCases.flatMap { point in everyOption.map { (point, $0) } }, [false, true])
  func everyPoint(case pair: (Point, CancellationOptions), shared: Bool) {
    let (point, options) = pair
    let log = Recorder()
    let executor = ManualExecutor()
    let outer = source(log, "outer")
    let inner = source(log, "inner")
    let others = shared ? [outer.future.map { $0 }, inner.future.map { $0 }] : []
    let requestInBody = Locked<(@Sendable () -> Void)?>(nil)
    let derived = outer.future.flatMap(on: executor.executor) { _ in
      requestInBody.withLock { $0.take() }?()
      return inner.future
    }
    let request: @Sendable () -> Void = { derived.cancel(options) }

    if point != .waiting { outer.succeed(1) }
    if point == .running { requestInBody.withLock { $0 = request } }
    if point != .queued { executor.runAll() }
    if point == .completed { inner.succeed(2) }
    if point != .running { request() }

    let expectation = Self.expected(point, options, shared: shared)
    expectEqual(derived.state, expectation.state)
    expectEqual(log.entries, expectation.log)
    #expect(!others.states().contains("cancelled"))
  }

  @Test(
    "After a request at each point, with each option, a future completes once every other future has completed",
    arguments: Point.allCases.filter { $0 != .running }.flatMap { point in everyOption.map { (point, $0) } })
  func completes(case pair: (Point, CancellationOptions)) {
    let (point, options) = pair
    let log = Recorder()
    let executor = ManualExecutor()
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap(on: executor.executor) { _ in inner.future }
    derived.observe { log($0.state) }

    if point != .waiting { outer.succeed(1) }
    if point == .linked || point == .completed { executor.runAll() }
    if point == .completed { inner.succeed(2) }
    derived.cancel(options)
    outer.succeed(1)
    executor.runAll()
    inner.completeCancelled()

    expectEqual(derived.state, (point == .completed ? "success(2)" : "cancelled"))
    expectEqual(log.entries, [derived.state])
  }
}
