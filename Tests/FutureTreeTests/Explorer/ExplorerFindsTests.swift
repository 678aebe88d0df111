import Testing

@testable import FutureTree

extension ExplorerSuite {
  @Suite("What it finds")
  struct ExplorerFindsTests {
    #if FUTURETREE_EXPLORER && canImport(Glibc)
      @Test("a future without its lock is read before its value is there")
      func readTooEarly() throws {
        let scenario = Scenario("one completes and one reads a future that has no lock", extras: []) { trial in
          let promise = Promise<Int>()
          let future = trial.watch("future", promise.future)
          future.node.lock.explored.isRemoved = true
          trial.thread { promise.succeed(7) }
          trial.thread { trial.note("read", "\((try? future.outcomeIfCompleted?.get()) ?? -1)") }
        }

        let failure = try #require(Exploration().explore(scenario, .all(preemptions: 2)).failure)

        #expect(failure.problems.joined().contains("= 7, 0"))
        #expect(Exploration().replay(scenario, failure.schedule).findings.failure?.problems == failure.problems)
      }

      @Test("a future without its lock loses who waits for it")
      func losesWaiter() throws {
        let scenario = Scenario("one completes and one observes a future that has no lock", extras: []) { trial in
          let promise = Promise<Int>()
          let future = trial.watch("future", promise.future)
          future.node.lock.explored.isRemoved = true
          let call = trial.calls("observer")
          trial.thread { promise.succeed(1) }
          trial.thread { future.observe { _ in call() } }
        }

        let failure = try #require(Exploration().explore(scenario, .all(preemptions: 2)).failure)

        #expect(failure.problems.joined().contains("closures are alive when nobody has a future"))
      }

      @Test("the same scenarios with the lock have no failure, also if threads are interrupted under it")
      func withLock() {
        let scenario = Scenario("two complete one future, and one attaches", extras: []) { trial in
          let promise = Promise<Int>()
          let future = trial.watch("future", promise.future)
          trial.thread { trial.note("one", "\(promise.succeed(1))") }
          trial.thread { trial.note("two", "\(promise.succeed(2))") }
          trial.thread { trial.watch("attached", future.map { $0 + 1 }) }
        }
        let exploration = Exploration()
        exploration.interruptsLocks = true

        let findings = exploration.explore(scenario, .all(preemptions: 2))

        #expect(findings.failure == nil)
        #expect(findings.scheduleCount > 100)
      }

      @Test("threads that wait for each other are a deadlock")
      func deadlock() throws {
        let scenario = Scenario("two block on each other's promise") { trial in
          let promises = [Promise<Int>(), Promise<Int>()]
          for (index, promise) in promises.enumerated() {
            trial.thread {
              _ = try? promises[1 - index].future.wait(for: .seconds(1))
              promise.succeed(1)
            }
          }
        }

        let failure = try #require(Exploration().explore(scenario, .all(preemptions: 1)).failure)

        #expect(failure.problems.joined().contains("deadlock"))
      }

      @Test("orders of steps at different places are taken once, and lead to the same outcomes as all")
      func mergesSame() {
        let setting = Stage.Setting(child: .none, handler: .continues)
        for scenario in StageOperation.scenarios(of: 2, in: setting).prefix(20) {
          let all = Exploration().explore(scenario, .everywhere(mergesSame: false))
          let merged = Exploration().explore(scenario, .everywhere(mergesSame: true))
          #expect(all.outcomeCount == merged.outcomeCount, "\(scenario.name)")
          #expect(merged.scheduleCount <= all.scheduleCount)
        }
      }
    #else
      @Test("what it finds") func finds() {}
    #endif
  }
}
