#if FUTURETREE_EXPLORER && canImport(Glibc)
  import FutureTreeTesting

  @testable import FutureTree

  extension Scenario {
    private struct Failed: Error {}

    /// The steps of an awaiting task: it attaches, and withdraws with a request. Law 14 (awaiting).
    static let waiting = [
      Scenario("two waiters attach, withdraw, and the source answers") { trial in
        let (promise, future) = trial.source("future", answering: .complete(.cancelled))
        let waits = ["one", "two"].map { WaitSteps(trial.calls("\($0)/notified", isFact: false)) }
        trial.thread({ waits[0].attach(to: future.node) }, { waits[0].detach(future.node) })
        trial.thread({ waits[1].attach(to: future.node) }, { waits[1].detach(future.node) })
        trial.thread { promise.succeed(1) }
      },
      Scenario("a waiter withdraws from a branch while the branch gains a consumer") { trial in
        let (promise, future) = trial.source("future")
        let branch = trial.watch("branch", future.map { $0 })
        let wait = WaitSteps(trial.calls("notified", isFact: false))
        trial.thread({ wait.attach(to: branch.node) }, { wait.detach(branch.node) })
        trial.thread { trial.watch("more", branch.map { $0 }) }
        trial.thread { future.cancel(.doNotForwardIfOthersWaiting, reason: "a") }
        trial.claim { withExtendedLifetime(promise) { nil } }
      },
      Scenario("a thread blocks until the outcome is set") { trial in
        let promise = Promise<Int>()
        let future = trial.watch("future", promise.future)
        let child = trial.watch("child", future.map { $0 + 1 })
        trial.thread {
          let outcome = try? child.blockUntilCompleted()
          trial.claim { outcome == nil ? "wait returned without an outcome" : nil }
        }
        trial.thread { promise.succeed(1) }
        trial.thread { child.cancel(.doNotForwardIfOthersWaiting, reason: "a") }
      },
    ]

    static let tools = [
      Scenario("a timeout expires while its source completes and is cancelled") { trial in
        let clock = ManualClock()
        let (promise, source) = trial.source("source")
        let timed = trial.watch("timed", source.timeout(after: .seconds(1), clock: clock))
        trial.thread { promise.succeed(1) }
        trial.thread { clock.advance(by: .seconds(1)) }
        trial.thread { timed.cancel(reason: "a") }
        trial.claim { clock.timerCount == 0 ? nil : "law 21: a timer is left" }
      },
      Scenario("a delay ends while it is cancelled") { trial in
        let (clock, promise) = (ManualClock(), Promise<Int>())
        let source = trial.watch("source", promise.future)
        let delayed = trial.watch("delayed", source.delayed(by: .seconds(1), clock: clock))
        trial.thread({ promise.succeed(1) }, { clock.advance(by: .seconds(1)) })
        trial.thread { delayed.cancel(reason: "a") }
        trial.thread { delayed.cancel(.forceImmediately, reason: "b") }
        trial.claim { clock.timerCount == 0 ? nil : "law 21: a timer is left" }
      },
      Scenario("retry is cancelled between two attempts") { trial in
        let clock = ManualClock()
        let attempts = [Promise<Int>(), Promise<Int>()]
        let calls = attempts.indices.map { trial.calls("attempt \($0)/body", isFact: false) }
        let future = Future<Int>.retry(.constant(attempts: 2, delay: .seconds(1)), clock: clock) { attempt in
          calls[attempt - 1]()
          return attempts[attempt - 1].future
        }
        trial.watch("future", future)
        trial.thread({ attempts[0].fail(Failed()) }, { attempts[1].succeed(2) })
        trial.thread { clock.advance(by: .seconds(1)) }
        trial.thread { future.cancel(reason: "a") }
      },
      Scenario("a flight is joined while the first caller cancels") { trial in
        let flights = SingleFlight<Int, Int>()
        let promises = Promises(trial)
        let first = trial.watch("first", flights.load(1) { promises.new() })
        trial.thread { first.cancel(reason: "a") }
        trial.thread { trial.watch("second", flights.load(1) { promises.new() }) }
        trial.thread({ promises.completeFirst() }, { trial.watch("third", flights.load(1) { promises.new() }) })
        trial.claim { withExtendedLifetime(flights) { nil } }
      },
      Scenario("a queue runs its items one after another while one is cancelled") { trial in
        let (queue, promise) = (FutureQueue(), Promise<Int>())
        let running = Together()
        trial.watch("first", queue.add { promise.future })
        let second = trial.watch("second", queue.add { running.during { .succeeded(2) } })
        trial.thread { promise.succeed(1) }
        trial.thread { second.cancel(reason: "a") }
        trial.thread { trial.watch("third", queue.add { running.during { .succeeded(3) } }) }
        trial.claim { queue.waitingCount == 0 ? nil : "\(queue.waitingCount) items never run" }
        trial.claim { running.most <= 1 ? nil : "two bodies ran concurrently" }
      },
      Scenario("two works of a queue wait for their own queue at once") { trial in
        let queue = FutureQueue(atMost: 2)
        let gates = [Promise<Int>(), Promise<Int>()]
        for (number, gate) in gates.enumerated() {
          let body: @Sendable () -> Future<Int> = { gate.future.flatMap { _ in queue.add { .succeeded(2) } } }
          trial.watch("outer \(number)", queue.add(body))
          trial.thread { gate.succeed(1) }
        }
        trial.thread { trial.watch("other", queue.add { .succeeded(3) }) }
        trial.claim { queue.runningCount + queue.waitingCount == 0 ? nil : "the queue waits for itself" }
      },
      Scenario("a future is registered with a token while that is cancelled") { trial in
        let source = CancellationTokenSource()
        let token = source.token
        let (promise, future) = trial.source("future")
        trial.thread { source.cancel(reason: "a") }
        trial.thread { future.cancel(when: token) }
        trial.thread { promise.succeed(1) }
        trial.claim { source.isCancelling ? nil : "law 13: the source lost its cancellation" }
      },
      Scenario("a registration is removed while a linked source is cancelled") { trial in
        let parent = CancellationTokenSource()
        let child = CancellationTokenSource(linkedTo: [parent.token])
        let call = trial.calls("registered", isFact: false)
        let registration = child.token.register { _ in call() }
        trial.thread { parent.cancel(reason: "a") }
        trial.thread { registration.remove() }
        trial.thread { child.cancel(reason: "b") }
        trial.claim { child.isCancelling ? nil : "law 13: the link was lost" }
      },
    ]
  }

  /// The calls of an awaiting task on a future, without the task.
  private final class WaitSteps: Waiter, @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    private let notified: Call

    init(_ notified: Call) {
      self.notified = notified
      super.init { entry, _, _ in
        unsafeDowncast(entry, to: WaitSteps.self).notified()
        return false
      }
    }

    func attach(to node: Node) {
      _ = node.attach(self, isConsumer: true)
    }

    func detach(_ node: Node) {
      let request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: "wait")
      _ = CancellationPropagation.run(
        Signal(node: node, request: request, sender: self, departure: .leaves))
    }
  }

  /// Promises that are made while threads run.
  private final class Promises: @unchecked Sendable {  // Because: as `WaitSteps`.
    private let trial: Trial
    private var promises: [Promise<Int>] = []

    init(_ trial: Trial) {
      self.trial = trial
    }

    func new() -> Future<Int> {
      let promise = Promise<Int>()
      promises.append(promise)
      promise.onRequestCancel { _ in .complete(.cancelled) }
      return trial.watch("flight \(promises.count)", promise.future)
    }

    func completeFirst() {
      promises[0].succeed(1)
    }
  }

  /// The number of bodies that run concurrently.
  private final class Together: @unchecked Sendable {  // Because: as `WaitSteps`.
    private var now = 0
    private(set) var most = 0

    func during(_ body: () -> Future<Int>) -> Future<Int> {
      now += 1
      most = max(most, now)
      SchedulingPoint.reached(self)
      defer { now -= 1 }
      return body()
    }
  }

  extension Future {
    /// Calls `wait(for:)` as a thread of the explorer does: its time does not pass.
    fileprivate func blockUntilCompleted() throws -> Outcome<Value>? { try wait(for: .seconds(1)) }
  }
#endif
