import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 21: bounded memory, leaks", .tags(.law21))
struct LeakTests {
  /// The way in which a future ends.
  enum Ending: String, CaseIterable, Sendable {
    case succeeded, failed, cancelled, asked, forced, dropped, sealedAndSucceeded

    func end(_ promise: inout Promise<Int>?, _ future: Future<Int>) {
      switch self {
      case .succeeded: promise?.succeed(1)
      case .failed: promise?.fail(Oops())
      case .cancelled: promise?.completeCancelled()
      case .asked:
        future.cancel()
        promise?.completeCancelled()
      case .forced: promise?.future.cancel(.forceImmediately)
      case .dropped: promise = nil
      case .sealedAndSucceeded: promise?.complete(.completeUsing(.succeeded(1)))
      }
    }
  }

  @Test("A completed future releases its body, observers and handlers", arguments: Holder.allCases, Ending.allCases)
  func bodies(holder: Holder, ending: Ending) {
    let census = Census()
    var promise: Promise<Int>? = Promise<Int>()
    let future = holder.attach(census.probe(), to: promise!)
    let token = future.cancelToken()
    expectEqual(census.alive, 1)

    ending.end(&promise, future)

    #expect(future.isCompleted)
    expectEqual(census.alive, 0)
    withExtendedLifetime((promise, token)) {}
  }

  @Test("A completed future releases a body that ran on an executor", arguments: Holder.allCases, Ending.allCases)
  func bodiesOnExecutor(holder: Holder, ending: Ending) {
    let census = Census()
    let executor = ManualExecutor()
    var promise: Promise<Int>? = Promise<Int>()
    let future = holder.attach(census.probe(), to: promise!, on: executor.executor)

    ending.end(&promise, future)
    executor.runAll()

    #expect(future.isCompleted)
    expectEqual(census.alive, 0)
    withExtendedLifetime(promise) {}
  }

  /// The holders whose own body holds the probe: a request that is not forwarded does not release a body upstream.
  static let branches = Holder.allCases.filter { holder in
    ![
      .all, .zip, .allSettled, .race, .any, .traverse, .timeout, .shielded, .observe, .handler, .delayed,
      .shared, .queue, .singleFlight,
    ]
    .contains(holder)
  }

  static let early: [CancellationOptions] = [
    .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
  ]

  @Test("A branch that ends early releases its body although its upstream is pending", arguments: branches, early)
  func endsEarly(holder: Holder, options: CancellationOptions) {
    let census = Census()
    let promise = Promise<Int>()
    let other = promise.future.map { $0 }
    let future = holder.attach(census.probe(), to: promise)

    future.cancel(options)

    expectEqual(future.state, "cancelled")
    expectEqual(census.alive, 0)
    expectEqual(other.state, "pending")
  }

  @Test("A branch that ends early without references is deallocated although its upstream is pending", arguments: early)
  func branchIsDeallocated(options: CancellationOptions) {
    let census = Census()
    let promise = Promise<Int>()
    let other = promise.future.map { $0 }
    func attach() {
      // The value of a completed upstream would retain the probe, so the branch itself holds it.
      let branch = promise.future.map { $0 }.flatMap { [probe = census.probe()] in .succeeded(pass($0, probe)) }
      branch.cancel(options)
    }

    for _ in 0..<10 { attach() }

    expectEqual(census.alive, 0)
    expectEqual(other.state, "pending")
  }

  @Test("A value is released with the last future that has it")
  func values() {
    let census = Census()
    do {
      let promise = Promise<Probe>()
      let mapped = promise.future.map { $0 }.ensure {}.recover { error in throw error }
      promise.succeed(census.probe())
      expectEqual(census.alive, 1)
      withExtendedLifetime(mapped) {}
    }

    expectEqual(census.alive, 0)
  }

  @Test("A value is released with its promise although a future derived from it remains")
  func forwardedValues() {
    let census = Census()
    let lengths = Locked<Future<Int>?>(nil)
    do {
      let promise = Promise<Probe>()
      lengths.value = promise.future.map { _ in 1 }
      promise.succeed(census.probe())
    }

    expectEqual(census.alive, 0)
    expectEqual(lengths.value?.state, "success(1)")
  }

  @Test("A value that arrives too late is released at once")
  func lateValues() {
    let census = Census()
    let promise = Promise<Probe>()
    promise.future.cancel(.forceImmediately)

    promise.succeed(census.probe())
    promise.complete(.success(census.probe()))
    promise.complete(with: .success(census.probe()))

    expectEqual(census.alive, 0)
  }

  // Law 11 (bodies that have not begun)
  @Test("A value whose body does not begin is released at once")
  func refusedValues() {
    let census = Census()
    let derived = Locked<Future<Int>?>(nil)
    do {
      let promise = Promise<Probe>()
      derived.value = promise.future.map { _ in 1 }
      derived.value?.cancel()
      promise.succeed(census.probe())
    }

    expectEqual(derived.value?.state, "cancelled")
    expectEqual(census.alive, 0)
  }

  @Test("An error is released with the last future that has it")
  func errors() {
    struct Heavy: Error {
      let probe: Probe
    }
    let census = Census()
    do {
      let future = Future<Int>.failed(Heavy(probe: census.probe())).map { $0 }
      expectEqual(census.alive, 1)
      withExtendedLifetime(future) {}
    }

    expectEqual(census.alive, 0)
  }

  @Test("A handler that captures its promise forms no cycle after completion")
  func handlerCapturesPromise() {
    let census = Census()
    func run() {
      let promise = Promise<Int>()
      promise.onRequestCancel { [probe = census.probe()] _ in
        probe.touch()
        promise.succeed(1)
        return .continue
      }
      promise.future.cancel()
    }

    run()

    expectEqual(census.alive, 0)
  }

  @Test("A body that captures its own future forms no cycle after completion")
  func bodyCapturesFuture() {
    let census = Census()
    func run() {
      let promise = Promise<Int>()
      let box = Locked<Future<Int>?>(nil)
      box.value = promise.future.map { [probe = census.probe()] value in
        _ = box.value?.state
        return pass(value, probe)
      }
      promise.succeed(1)
      box.value = nil
    }

    run()

    expectEqual(census.alive, 0)
  }

  @Test("An inner future is retained only until it completes")
  func innerFuture() {
    let census = Census()
    let inner = Locked<Promise<Int>?>(Promise<Int>())
    let other = Locked<Future<Int>?>(inner.value?.future.map { [probe = census.probe()] in pass($0, probe) })
    let derived = Future.succeeded(1).flatMap { [other] _ in other.value ?? .succeeded(0) }
    other.value = nil
    expectEqual(census.alive, 1)

    inner.value?.succeed(2)

    expectEqual(derived.state, "success(2)")
    expectEqual(census.alive, 0)
  }

  @Test("A pending tree is deallocated when its last reference is dropped", arguments: Holder.allCases)
  func dropEverything(holder: Holder) {
    let census = Census()
    func run() {
      let promise = Promise<Int>()
      let future = holder.attach(census.probe(), to: promise)
      _ = (future.cancelToken(), future.map { $0 })
      future.cancel(.doNotForwardIfOthersWaiting)
    }

    run()

    expectEqual(census.alive, 0)
  }
}
