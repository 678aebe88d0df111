import TestSupport
import Testing

@testable import FutureTree

extension ExplorerSuite {
  @Suite("Bugs that the explorer finds")
  struct ExplorerFindsTests {
    #if FUTURETREE_EXPLORER && canImport(Glibc)
      @Test("A future without its lock is read before its value is written")
      func readTooEarly() throws {
        let scenario = Scenario("one thread completes and one reads a future without a lock", extras: []) { trial in
          let promise = Promise<Int>()
          let future = trial.watch("future", promise.future)
          future.node.lock.explored.isRemoved = true
          trial.thread { promise.succeed(7) }
          trial.thread { trial.note("read", "\((try? future.outcomeIfCompleted?.get()) ?? -1)") }
        }

        let failure = try #require(Exploration().explore(scenario, .all(preemptions: 2)).failure)

        #expect(failure.problems.joined().contains("= 7, 0"))
        expectEqual(Exploration().replay(scenario, failure.schedule).findings.failure?.problems, failure.problems)
      }

      @Test("A future without its lock loses an observer")
      func losesWaiter() throws {
        let scenario = Scenario("one thread completes and one observes a future without a lock", extras: []) { trial in
          let promise = Promise<Int>()
          let future = trial.watch("future", promise.future)
          future.node.lock.explored.isRemoved = true
          let call = trial.calls("observer")
          trial.thread { promise.succeed(1) }
          trial.thread { future.observe { _ in call() } }
        }

        let failure = try #require(Exploration().explore(scenario, .all(preemptions: 2)).failure)

        #expect(failure.problems.joined().contains("closures are alive without a future of a user"))
      }

      @Test("A future with its lock has no failure, even if threads are interrupted while they hold it")
      func withLock() {
        let scenario = Scenario("two threads complete one future, and one attaches", extras: []) { trial in
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

      @Test("Threads that wait for each other are reported as a deadlock")
      func deadlock() throws {
        let scenario = Scenario("two threads block on each other's promise") { trial in
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

      @Test("Orders of steps at different places run once, and give the same outcomes as all orders")
      func mergesSame() {
        let setting = Stage.Setting(child: .none, handler: .continues)
        for scenario in StageOperation.scenarios(of: 2, in: setting).prefix(20) {
          let all = Exploration().explore(scenario, .everywhere(mergesSame: false))
          let merged = Exploration().explore(scenario, .everywhere(mergesSame: true))
          expectEqual(all.outcomeCount, merged.outcomeCount, "\(scenario.name)")
          #expect(merged.scheduleCount <= all.scheduleCount)
        }
      }
    #else
      @Test("The explorer is not compiled in") func finds() {}
    #endif
  }
}
