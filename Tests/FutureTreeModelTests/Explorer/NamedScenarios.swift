#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// Scenarios of three threads on trees of futures. The scenarios with clocks and tables are in
  /// `NamedScenarios+Tools.swift`, the scenarios with tokens alone in `NamedScenarios+Tokens.swift`.
  extension Scenario {
    static let named: [Scenario] = trees + joins + waiting + tools + tokens

    fileprivate struct Failed: Error {}

    /// Returns a future of a recursion whose next future is `inner`.
    private static func recursion(
      after step: Promise<Int>, _ body: Call, _ inner: Future<Int>
    ) -> Future<Int> {
      step.future.flatMap { _ in
        body()
        return inner
      }
    }

    private static let trees = [
      Scenario("a diamond is cancelled, consumed and completed") { trial in
        let (promise, top) = trial.source("top")
        let (left, right) = (top.map { $0 + 1 }, top.map { $0 + 2 })
        trial.watch("left", left)
        let bottom = trial.watch("bottom", Future.all([left, right]).map { $0.reduce(0, +) })
        trial.thread { bottom.cancel(reason: "a") }
        trial.thread { promise.succeed(1) }
        trial.thread({ trial.watch("more", left.map { $0 }) }, { left.cancel(.forceImmediately, reason: "b") })
      },
      Scenario("both branches of a shared future are cancelled") { trial in
        let (promise, source) = trial.source("source", answering: .complete(.cancelled))
        source.shared()
        let branches = ["one", "two"].map { trial.watch($0, source.map { $0 }) }
        trial.thread { branches[0].cancel(reason: "a") }
        trial.thread { branches[1].cancel(.forceImmediately, reason: "b") }
        trial.thread { promise.succeed(1) }
      },
      Scenario("a shared future gains a branch while others are cancelled") { trial in
        let (promise, source) = trial.source("source")
        source.shared()
        let branches = ["one", "two"].map { trial.watch($0, source.map { $0 }) }
        trial.thread { branches[0].cancel(reason: "a") }
        trial.thread { branches[1].cancel(reason: "b") }
        trial.thread { trial.watch("three", source.map { $0 }) }
        trial.claim { withExtendedLifetime(promise) { nil } }
      },
      Scenario("flatMap links while it is cancelled", extras: [.eachFutureForItself, .bodyWasRunning]) { trial in
        let (outer, body) = (Promise<Int>(), trial.calls("child/body"))
        let (inner, innerFuture) = trial.source("inner", answering: .complete(.cancelled))
        let child = trial.watch(
          "child",
          outer.future.flatMap { _ in
            body()
            return innerFuture
          })
        trial.thread { outer.succeed(1) }
        trial.thread({ child.cancel(reason: "a") }, { child.cancel(.forceImmediately, reason: "b") })
        trial.thread { inner.succeed(2) }
      },
      Scenario("a future is left out while it is cancelled", extras: [.eachFutureForItself, .bodyWasRunning]) { trial in
        let (step, body) = (Promise<Int>(), trial.calls("child/body"))
        let (inner, innermost) = trial.source("innermost", answering: .complete(.cancelled))
        let outer = trial.watch("outer", Future.succeeded(0).flatMap { _ in recursion(after: step, body, innermost) })
        trial.thread { step.succeed(1) }
        trial.thread { outer.cancel(reason: "a") }
        trial.thread { outer.cancel(.forceImmediately, reason: "b") }
        trial.claim { withExtendedLifetime(inner) { nil } }
      },
      Scenario("a future is left out while another thread drops its handle", extras: [.bodyWasRunning]) { trial in
        let (step, body, middle) = (Promise<Int>(), trial.calls("child/body"), Locked<Future<Int>?>(nil))
        let (inner, innermost) = trial.source("innermost")
        let outer = trial.watch(
          "outer",
          Future.succeeded(0).flatMap { _ in
            let future = recursion(after: step, body, innermost)
            middle.value = future
            return future
          })
        trial.thread { step.succeed(1) }
        trial.thread {
          let future = middle.withLock { $0.take() }
          if let future { trial.watch("more", future.map { $0 + 1 }) }
        }
        trial.thread({ outer.cancel(reason: "a") }, { inner.succeed(2) })
      },
      Scenario("a promise is sealed, cancelled and gets a handler") { trial in
        let stage = Stage(trial, Stage.Setting(child: .map, handler: .continues))
        trial.thread { stage.complete("parent/link", .completeUsing(stage.inner!.future)) }
        trial.thread({ stage.child?.cancel(reason: "a") }, { stage.parent.cancel(.doNotForwardRequest, reason: "b") })
        trial.thread({ stage.install("parent/late", cancels: true) }, { stage.inner?.succeed(2) })
      },
      Scenario("two promises are sealed onto each other") { trial in
        let (one, two) = (Promise<Int>(), Promise<Int>())
        trial.watch("one", one.future)
        trial.watch("two", two.future)
        trial.thread { one.complete(.completeUsing(two.future)) }
        trial.thread { two.complete(.completeUsing(one.future)) }
        trial.thread { one.future.cancel(reason: "a") }
        trial.claim { one.future.isCompleted && two.future.isCompleted ? nil : "a cycle of promises is pending" }
      },
      Scenario("a shield is cancelled while its source completes") { trial in
        let (promise, source) = trial.source("source")
        let shield = trial.watch("shield", source.shielded())
        let child = trial.watch("child", shield.map { $0 })
        trial.thread { child.cancel(reason: "a") }
        trial.thread { promise.succeed(1) }
        trial.thread(
          { shield.cancel(.doNotForwardIfOthersWaiting, reason: "b") }, { trial.watch("more", source.map { $0 }) })
        trial.claim { trial.calledNever("source/handler") ? nil : "law 4: a shield forwarded a request" }
      },
      Scenario("an observer is removed while its future completes") { trial in
        let promise = Promise<Int>()
        let future = trial.watch("future", promise.future)
        let call = trial.calls("observer", isFact: false)
        let observation = future.observe { _ in call() }
        trial.thread { promise.succeed(1) }
        trial.thread { observation.remove() }
        trial.thread { future.cancel(.forceImmediately, reason: "a") }
      },
      Scenario("a first observer is removed while its promise completes") { trial in
        let promise = Promise<Int>()
        let call = trial.calls("observer", isFact: false)
        let observation = promise.future.observe { _ in call() }
        let future = trial.watch("future", promise.future)
        trial.thread { promise.succeed(1) }
        trial.thread { observation.remove() }
        trial.thread { future.cancel(.forceImmediately, reason: "a") }
      },
      Scenario("a first observer is removed while its promise is sealed") { trial in
        let promise = Promise<Int>()
        let call = trial.calls("observer", isFact: false)
        let observation = promise.future.observe { _ in call() }
        let (inner, innerFuture) = trial.source("inner")
        trial.watch("future", promise.future)
        trial.thread { promise.complete(.completeUsing(innerFuture)) }
        trial.thread { observation.remove() }
        trial.thread { inner.succeed(1) }
      },
      Scenario("two threads observe a promise while it completes") { trial in
        let promise = Promise<Int>()
        for name in ["one", "two"] {
          let call = trial.calls(name)
          trial.thread { promise.future.observe { _ in call() } }
        }
        trial.thread { promise.succeed(1) }
      },
      Scenario("a handler is removed while its future is cancelled") { trial in
        let promise = Promise<Int>()
        let future = trial.watch("future", promise.future)
        let (first, second) = (trial.calls("first", isFact: false), trial.calls("second", isFact: false))
        let handler = promise.onRequestCancel { _ in
          first()
          return .continue
        }
        promise.onRequestCancel { _ in
          second()
          return .complete(.success(2))
        }
        trial.thread { handler.remove() }
        trial.thread { future.cancel(reason: "a") }
        trial.thread { promise.succeed(1) }
      },
    ]

    private static let joins = [
      joinScenario("all") { Future.all($0).map { $0.reduce(0, +) } },
      joinScenario("allSettled") { Future.allSettled($0).map { $0.count } },
      joinScenario("any") { Future.any($0) },
      joinScenario("race") { Future.race($0) },
      Scenario("a drain cancels all futures, and waits until all have settled") { trial in
        let promises = (0..<3).map { _ in Promise<Int>() }
        for (index, promise) in promises.enumerated() {
          trial.watch("load \(index)", promise.future)
          promise.onRequestCancel { _ in index == 0 ? .complete(.cancelled) : .continue }
        }
        trial.thread {
          for promise in promises { promise.future.cancel(reason: "reset") }
          trial.watch("drained", Future.allSettled(promises.map(\.future)).map { $0.count })
        }
        trial.thread { promises[1].succeed(1) }
        trial.thread({ promises[2].fail(Failed()) }, { promises[0].succeed(0) })
      },
    ]

    /// Returns a scenario of a join with an input that succeeds, an input that fails, and a request.
    private static func joinScenario(
      _ name: String, _ join: @escaping @Sendable ([Future<Int>]) -> Future<Int>
    ) -> Scenario {
      Scenario("\(name): one input succeeds, one fails, and the join is cancelled") { trial in
        let promises = (0..<2).map { trial.source("input \($0)").promise }
        let future = trial.watch("join", join(promises.map(\.future)))
        trial.thread { promises[0].succeed(1) }
        trial.thread { promises[1].fail(Failed()) }
        trial.thread { future.cancel(reason: "a") }
      }
    }
  }

  extension Scenario {
    /// Makes a scenario in which each future of a tree may have its own order.
    init(_ name: String, extras: [Extra] = [.eachFutureForItself], _ make: @escaping @Sendable (Trial) -> Void) {
      self.init(name: name, extras: extras, make: make)
    }
  }
#endif
