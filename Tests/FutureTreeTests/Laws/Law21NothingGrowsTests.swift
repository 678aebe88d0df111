import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 21: bounded memory, registrations", .tags(.law21))
struct Law21NothingGrowsTests {
  private let census = Census()

  @Test("A long-lived future releases 10,000 removed observers")
  func observers() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> FutureObservation {
      promise.future.observe { _ in probe.touch() }
    }

    for _ in 0..<10_000 { attach(census.probe()).remove() }

    expectEqual(census.alive, 0)
  }

  @Test("A long-lived future releases 10,000 removed handlers")
  func handlers() {
    let promise = Promise<Int>()
    func install(_ probe: Probe) -> CancelHandler {
      promise.onRequestCancel { _ in
        probe.touch()
        return .continue
      }
    }

    for _ in 0..<10_000 { install(census.probe()).remove() }

    expectEqual(census.alive, 0)
  }

  @Test("A long-lived future releases 10,000 detached consumers")
  func consumers() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> Future<Int> {
      promise.future.map { value in
        probe.touch()
        return value
      }
    }

    for _ in 0..<10_000 { attach(census.probe()).cancel(.doNotForwardRequest) }

    expectEqual(census.alive, 0)
    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .stored)
  }

  // MARK: - Cancelled waits for a derived future

  /// A way to wait for a value of a long-lived future that ignores requests, and to end the wait.
  struct CancelledWait: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The number of futures that each wait leaves behind.
    let leaves: Int
    let wait: @Sendable (Future<Int>) async -> Void

    /// Ends a task that awaits a value.
    private static func awaiting(
      _ name: String, leaves: Int, _ read: @escaping @Sendable (Future<Int>) async throws -> Int
    ) -> CancelledWait {
      CancelledWait(testDescription: name, leaves: leaves) { session in
        let task = Task { try await read(session) }
        task.cancel()
        _ = await task.result
      }
    }

    static let every = [
      CancelledWait(testDescription: "a request to a derived future", leaves: 1) { $0.map { $0 }.cancel() },
      CancelledWait(testDescription: "a dropped bag", leaves: 1) { session in
        let bag = CancelBag()
        session.map { $0 }.cancelToken().store(in: bag)
      },
      awaiting("a task that awaits a derived future", leaves: 1) { try await $0.map { $0 }.value },
      CancelledWait(testDescription: "the end of a chain that only detaches", leaves: 1) {
        $0.map { $0 }.map { $0 }.cancel(.doNotForwardRequest)
      },
      CancelledWait(testDescription: "a derived future that only detaches", leaves: 0) {
        $0.map { $0 }.cancel(.doNotForwardRequest)
      },
      awaiting("a task whose request only detaches", leaves: 0) {
        try await $0.map { $0 }.value(cancellingWith: .doNotForwardRequest)
      },
      CancelledWait(testDescription: "a chain behind a shield", leaves: 0) {
        $0.shielded().map { $0 }.map { $0 }.cancel()
      },
      awaiting("a task that awaits the future itself", leaves: 0) { try await $0.value + 1 },
    ]
  }

  @Test("A cancelled wait leaves as many futures behind as the guide says", arguments: CancelledWait.every)
  func cancelledWaits(wait: CancelledWait) async {
    let promise = Promise<Int>()

    for _ in 0..<100 { await wait.wait(promise.future) }

    expectEqual(promise.future.tree().entries.count, 1 + 100 * wait.leaves)
    promise.succeed(1)
    expectEqual(promise.future.tree().entries.count, 1)
  }

  @Test("A bag releases the token of a future that has completed")
  func bag() {
    let (bag, promise) = (CancelBag(), Promise<Int>())
    weak let token = {
      bag.insert($0)
      return $0
    }(promise.future.cancelToken())
    #expect(token != nil)

    promise.succeed(1)

    #expect(token == nil)
    withExtendedLifetime(bag) {}
  }

  @Test("A long-lived future releases 10,000 tokens that requested, while one remains")
  func tokens() {
    let promise = Promise<Int>()
    let remaining = promise.future.cancelToken()

    for _ in 0..<10_000 { promise.future.cancelToken().cancel(.doNotForwardIfOthersWaiting) }

    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    withExtendedLifetime(remaining) {}
  }

  @Test("A recursion of flatMap retains one link", arguments: Recursion.allCases)
  func recursion(_ recursion: Recursion) {
    let (step, executor, ends) = (Locked(Promise<Int>()), ManualExecutor(), Locked(false))
    @Sendable func countDown(_ count: Int) -> Future<Int> {
      if ends.value { return .succeeded(7) }
      if recursion == .halfCompleted, count % 2 == 0 { return Future.succeeded(count - 1).flatMap { countDown($0) } }
      step.value = Promise()
      switch recursion {
      case .onExecutor: return step.value.future.flatMap(on: executor.executor) { countDown($0) }
      case .recovering: return step.value.future.recoverWith { _ in countDown(count - 1) }
      case .completing: return step.value.future.onComplete { _ in .completeUsing(countDown(count - 1)) }
      case .pending, .halfCompleted: return step.value.future.flatMap { countDown($0) }
      }
    }
    let future = countDown(10_001)

    for count in (0..<5_000).reversed() {
      switch recursion {
      case .recovering: step.value.fail(Oops())
      case .halfCompleted: step.value.succeed(2 * count + 2)
      case .pending, .onExecutor, .completing: step.value.succeed(2 * count + 1)
      }
      executor.runAll()
    }

    // The promise, the future of its recursion, and the first future.
    expectEqual(future.tree().entries.count, 3)
    future.cancel()
    #expect(step.value.cancelRequest != nil)

    // Each body holds `step`: a recursion that does not end is never freed.
    ends.value = true
    step.value.fail(Oops())
    executor.runAll()
    #expect(future.isCompleted)
  }

  /// The way in which the next turn of a recursion begins.
  enum Recursion: CaseIterable {
    case pending, halfCompleted, onExecutor, recovering, completing
  }

  @Test("Each retained future of a recursion completes")
  func heldRecursion() {
    let (step, retained) = (Locked(Promise<Int>()), Locked<[Future<Int>]>([]))
    @Sendable func countDown(_ count: Int) -> Future<Int> {
      guard count > 0 else { return .succeeded(7) }
      step.value = Promise()
      let future = step.value.future.flatMap { countDown($0) }
      if count % 2 == 0 { retained.withLock { $0.append(future) } }
      return future
    }
    let future = countDown(10)

    for count in (0..<10).reversed() { step.value.succeed(count) }

    expectEqual(future.state, "success(7)")
    expectEqual(retained.value.map(\.state), Array(repeating: "success(7)", count: 5))
  }

  @Test("A long-lived future releases 10,000 tasks that were cancelled while they waited")
  func tasks() {
    let executor = ManualTaskExecutor()
    let promise = Promise<Int>()
    let future = promise.future
    let remaining = future.cancelToken()

    for _ in 0..<10_000 {
      executor.start { _ = try? await future.value }.cancel()
      executor.runAll()
    }

    expectEqual(future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    withExtendedLifetime(remaining) {}
  }

  @Test("A long-lived token does not retain the bodies upstream of its future")
  func longToken() {
    let promise = Promise<Probe>()
    func attach(_ probe: Probe) -> CancelToken {
      promise.future.map { value in
        probe.touch()
        return value
      }.map { _ in 1 }.cancelToken()
    }
    let token = attach(census.probe())

    promise.succeed(census.probe())

    // The future of the promise still has its value.
    expectEqual(census.alive, 1)
    withExtendedLifetime((promise, token)) {}
  }

  @Test("The handle of an observation retains nothing after completion")
  func observationHandle() {
    let promise = Promise<Int>()
    func attach(_ probe: Probe) -> FutureObservation {
      promise.future.observe { _ in probe.touch() }
    }
    let observation = attach(census.probe())

    promise.succeed(1)

    expectEqual(census.alive, 0)
    observation.remove()
  }

  @Test("The handle of a handler retains nothing after completion")
  func handlerHandle() {
    let promise = Promise<Int>()
    let handler = promise.onRequestCancel(holding: census.probe())

    promise.succeed(1)

    expectEqual(census.alive, 0)
    handler.remove()
  }

  @Test("The handle of a handler that ran retains nothing")
  func handlerThatRan() {
    let promise = Promise<Int>()
    let handler = promise.onRequestCancel(holding: census.probe())

    promise.future.cancel()

    expectEqual(census.alive, 0)
    handler.remove()
  }

  @Test("The handle of a handler that ran retains no outcome", arguments: [true, false])
  func handlerOfFreedFuture(runs: Bool) {
    var handles: [CancelHandler] = []
    do {
      let promise = Promise<Probe>()
      handles.append(promise.onRequestCancel { _ in .continue })
      if runs { promise.future.cancel() } else { handles[0].remove() }
      promise.succeed(census.probe())
    }

    expectEqual(census.alive, 0)
    for handle in handles { handle.remove() }
  }

  @Test("A retained request retains nothing of its future after completion")
  func retainedRequest() {
    let received = Locked<ReceivedCancelRequest<Probe>?>(nil)
    do {
      let promise = Promise<Probe>()
      promise.onRequestCancel { request in
        received.value = request
        return .continue
      }
      promise.future.cancel()
      promise.succeed(census.probe())
    }

    // The request may retain its future, and with it the value, until it is released.
    received.value = nil
    expectEqual(census.alive, 0)
  }

  @Test("A token retains neither the value nor the future after completion")
  func token() {
    let census = Census()
    var promise: Promise<Probe>? = Promise<Probe>()
    let token = promise?.future.cancelToken()
    let requesting = promise?.future.cancelToken()
    requesting?.cancel(.doNotForwardIfOthersWaiting)

    promise?.succeed(census.probe())
    promise = nil

    expectEqual(census.alive, 0)
    expectEqual(token?.cancel().effect, .tooLate(.succeeded))
    expectEqual(requesting?.cancel().effect, .tooLate(.succeeded))
  }
}
