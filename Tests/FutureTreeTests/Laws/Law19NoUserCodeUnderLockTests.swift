import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

/// A callback from which the library calls user code.
enum Callback: String, CaseIterable, Sendable {
  case map, flatMap, onSuccess, recover, onFailure, onCancel, onComplete, ensure, observe, handler, storedHandler
  case executor, handlerExecutor, bodyDeinit, handlerDeinit, observerDeinit, valueDeinit, tokenDeinit, endedHandler
  case endedObserver, singleFlight

  /// Makes `promise` call `body` from this callback. The body runs before this returns.
  func provoke(_ promise: Promise<Probe?>, _ body: @escaping @Sendable () -> Void) {
    let future = promise.future
    switch self {
    case .map: succeed(promise) { _ = future.map { _ in body() } }
    case .flatMap: succeed(promise) { _ = future.flatMap { run(body, passing: .succeeded($0)) } }
    case .onSuccess: succeed(promise) { _ = future.onSuccess { _ in run(body, passing: .succeeded) } }
    case .recover: fail(promise) { _ = future.recover { _ in run(body, passing: nil) } }
    case .onFailure: fail(promise) { _ = future.onFailure { _ in body() } }
    case .onCancel: cancel(promise) { _ = future.onCancel { _ in body() } }
    case .onComplete: succeed(promise) { _ = future.onComplete { _ in run(body, passing: .success) } }
    case .ensure: succeed(promise) { _ = future.ensure { body() } }
    case .observe: succeed(promise) { future.observe { _ in body() } }
    case .handler: cancel(promise) { install(promise, body) }
    case .storedHandler:
      future.cancel()
      install(promise, body)
    case .executor: succeed(promise) { _ = future.map(on: executor(body)) { $0 } }
    case .handlerExecutor: cancel(promise) { promise.onRequestCancel(on: executor(body)) { _ in .continue } }
    case .bodyDeinit: succeed(promise) { capture(Probe(body)) { probe in _ = future.map { _ in probe.touch() } } }
    case .handlerDeinit:
      succeed(promise) { capture(Probe(body)) { probe in install(promise) { probe.touch() } } }
    case .observerDeinit:
      succeed(promise) { capture(Probe(body)) { probe in future.observe { _ in probe.touch() } } }
    case .valueDeinit:
      promise.succeed(nil)
      _ = promise.succeed(Probe(body))  // The second value is deallocated.
    case .tokenDeinit:
      let requester = future.cancelToken()
      let last = Locked<CancelToken?>(future.cancelToken())
      install(promise, body)
      requester.cancel(.doNotForwardIfOthersWaiting)
      let dropped = last.withLock { $0.take() }
      _ = consume dropped
    case .endedHandler: capture(Probe(body)) { probe in install(promise) { probe.touch() }.remove() }
    case .singleFlight:
      let flights = SingleFlight<Int, Probe?>()
      _ = flights.load(1) { run(body, passing: .succeeded(nil)) }
      promise.succeed(nil)
    case .endedObserver: capture(Probe(body)) { probe in future.observe { _ in probe.touch() }.remove() }
    }
  }

  private func succeed(_ promise: Promise<Probe?>, _ attach: () -> Void) {
    attach()
    promise.succeed(nil)
  }

  private func fail(_ promise: Promise<Probe?>, _ attach: () -> Void) {
    attach()
    promise.fail(Oops())
  }

  private func cancel(_ promise: Promise<Probe?>, _ attach: () -> Void) {
    attach()
    promise.future.cancel()
    promise.completeCancelled()
  }

  @discardableResult
  private func install(_ promise: Promise<Probe?>, _ body: @escaping @Sendable () -> Void) -> CancelHandler {
    promise.onRequestCancel { _ in
      body()
      return .continue
    }
  }

  private func executor(_ body: @escaping @Sendable () -> Void) -> FutureExecutor {
    .custom { job in
      body()
      job()
    }
  }

  /// Passes an object to a closure and releases it.
  private func capture(_ probe: consuming Probe, _ attach: (Probe) -> Void) {
    attach(probe)
  }
}

@Suite("Law 19: no user code under a lock", .tags(.law19))
struct Law19NoUserCodeUnderLockTests {
  /// Calls the API that a user can call on a future.
  @Sendable static func useEverything(_ future: Future<Probe?>) {
    _ = (future.isCompleted, future.outcomeIfCompleted?.state, future.cancelRequest)
    let token = future.cancelToken()
    let derived = future.map { $0 }.flatMap { .succeeded($0) }.recover { error in throw error }.ensure {}
    _ = future.onComplete { _ in .success(1) }
    _ = Future.all([future, derived])
    let observation = future.observe { _ in }
    observation.remove()
    token.cancel(.doNotForwardIfOthersWaiting)
    derived.cancel(.doNotForwardRequest)
    _ = future.named("used").tree().description
  }

  @Test("Calling any API of the same future from inside any callback is legal", arguments: Callback.allCases)
  func sameThread(callback: Callback) {
    let log = Recorder()
    let promise = Promise<Probe?>()
    let future = promise.future

    callback.provoke(promise) {
      log("called")
      Self.useEverything(future)
    }

    #expect(!log.entries.isEmpty)
  }

  @Test("Another thread can use the future while any callback runs", arguments: Callback.allCases)
  func otherThread(callback: Callback) {
    let log = Recorder()
    let promise = Promise<Probe?>()
    let future = promise.future

    callback.provoke(promise) {
      onAnotherThread { Self.useEverything(future) }
      log("called")
    }

    #expect(!log.entries.isEmpty)
  }

  @Test("Any callback may complete, cancel or force its future, and install handlers", arguments: Callback.allCases)
  func promiseInside(callback: Callback) {
    let log = Recorder()
    let promise = Promise<Probe?>()
    let future = promise.future

    callback.provoke(promise) { [weak promise] in
      log("called")
      promise?.onRequestCancel { _ in .continue }
      future.cancel()
      future.cancel(.forceImmediately)
      _ = promise?.succeed(nil)
      _ = promise?.fail(Oops())
    }

    #expect(!log.entries.isEmpty)
    #expect(future.isCompleted)
  }

  @Test("The deinit of a value runs outside every lock after the last reference to its future is released")
  func valueDeinit() {
    let log = Recorder()
    let other = Promise<Int>()
    func make() {
      let promise = Promise<Probe>()
      promise.succeed(Probe { log("\(other.succeed(1)) \(other.future.state)") })
    }

    make()

    expectEqual(log.entries, ["true success(1)"])
  }

  @Test("The deinit of a value may drop the last token of its future")
  func valueHoldsToken() {
    let log = Recorder()
    let promise = Promise<Probe>()
    let future = promise.future
    let token = Locked<CancelToken?>(future.cancelToken())
    promise.succeed(
      Probe {
        token.value = nil
        log("dead")
      })

    _ = promise.future.map { probe in probe.touch() }
    expectEqual(log.entries, [])
    withExtendedLifetime((promise, future)) {}
  }

  @Test("A continuation is resumed outside every lock")
  func continuation() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = Promise<Int>()
    let future = promise.future
    executor.start { log("value \((try? await future.value) ?? 0)") }
    executor.whenEnqueued {
      onAnotherThread { log("resumed \(future.state)") }
    }

    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["resumed success(1)", "value 1"])
  }

  @Test("The continuation of a cancelled task is resumed outside every lock")
  func cancelledContinuation() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = Promise<Int>()
    let future = promise.future
    let task = executor.start { _ = try? await future.value }
    executor.whenEnqueued {
      onAnotherThread { log("resumed \(future.state)") }
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["resumed pending"])
  }

  @Test("A completion inside a callback returns before its consumers are notified", arguments: Callback.allCases)
  func trampoline(callback: Callback) {
    let log = Recorder()
    let promise = Promise<Probe?>()
    let other = Promise<Int>()
    other.future.observe { _ in log("heard") }

    callback.provoke(promise) {
      log("begin")
      other.succeed(1)
      log("end \(other.future.state)")
    }

    // A `deinit` is a callback only where the library calls it. The user's own thread may release a late value or a
    // removed callback outside any callback: then consumers are notified before the completion returns.
    switch callback {
    case .bodyDeinit, .handlerDeinit, .observerDeinit, .valueDeinit, .endedHandler, .endedObserver, .executor,
      .handlerExecutor:
      expectEqual(log.entries.sorted(), ["begin", "end success(1)", "heard"])
    default:
      expectEqual(log.entries.filter { $0 != "begin" }, ["end success(1)", "heard"])
    }
  }

  @Test("Outside any callback a completion returns after its consumers ran")
  func outside() {
    let log = Recorder()
    let promise = Promise<Int>()
    _ = promise.future.map { _ in log("first") }.map { log("second") }

    promise.succeed(1)
    log("returned")

    expectEqual(log.entries, ["first", "second", "returned"])
  }

  @Test("A body attached to a completed future inside a callback runs after the callback returns")
  func attachInside() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.future.observe { _ in
      _ = Future.succeeded(1).map { _ in log("body") }
      log("done")
    }

    promise.succeed(1)

    expectEqual(log.entries, ["done", "body"])
  }

  @Test("A body attached to a completed future outside any callback runs at once")
  func attachOutside() {
    let future = Future.succeeded(1).map { $0 + 1 }.flatMap { .succeeded($0 + 1) }

    expectEqual(future.state, "success(3)")
  }
}

private func run<Value>(_ body: () -> Void, passing value: Value) -> Value {
  body()
  return value
}

@Suite("Law 19: no user code under a lock, assertions", .tags(.law19))
struct LockRuleTests {
  @Test("A thread that holds a lock and takes another ends the process", .enabled(if: LockRule.isAsserted))
  func twoLocks() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .failure) {
        let (outer, inner) = (Locked(1), Locked(2))
        outer.withLock { $0 = inner.value }
      }
    }
  }

  @Test("User code that would run under a lock ends the process", .enabled(if: LockRule.isAsserted))
  func userCode() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .failure) {
        let lock = Lock()
        lock.withLock { FutureExecutor.immediate.run {} }
      }
    }
  }
}
