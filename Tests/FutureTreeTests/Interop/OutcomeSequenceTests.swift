import TestSupport
import Testing

@testable import FutureTree

@Suite("Bridges: outcomes of several futures")
struct OutcomeSequenceTests {
  private let executor = ManualTaskExecutor()
  private let log = Recorder()

  /// Starts a task that logs the elements it iterates over. The task is suspended when this function returns.
  private func iterate(_ futures: [Future<Int>]) -> Task<Void, Never> {
    executor.start { [log] in
      do {
        for try await completion in Future.outcomes(of: futures) {
          log("\(completion.index) \(completion.outcome.state)")
        }
        log("end")
      } catch {
        log("\(type(of: error))")
      }
    }
  }

  private func sources(_ count: Int) -> [Promise<Int>] {
    (0..<count).map { source(log, "source \($0)") }
  }

  @Test("Outcomes arrive in completion order, with the index of their future")
  func order() {
    let promises = sources(3)
    _ = iterate(promises.map(\.future))
    expectEqual(log.entries, [])

    promises[2].succeed(1)
    executor.runAll()
    promises[0].fail(Oops())
    executor.runAll()
    promises[1].completeCancelled()
    executor.runAll()

    expectEqual(log.entries, ["2 success(1)", "0 failure(oops)", "1 cancelled", "end"])
  }

  @Test("Outcomes that arrive between two iterations are buffered in order")
  func buffered() {
    let promises = sources(3)
    _ = iterate(promises.map(\.future))

    for index in [1, 2, 0] { promises[index].succeed(index) }
    executor.runAll()

    expectEqual(log.entries, ["1 success(1)", "2 success(2)", "0 success(0)", "end"])
  }

  @Test("The outcomes of completed futures come first, in the order of the list")
  func completedFirst() {
    let promise = Promise<Int>()

    _ = iterate([promise.future, .succeeded(1), .failed(Oops()), .cancelled("gone")])
    expectEqual(log.entries, ["1 success(1)", "2 failure(oops)", "3 cancelled"])
    promise.succeed(0)
    executor.runAll()

    expectEqual(log.entries.suffix(2), ["0 success(0)", "end"])
  }

  @Test("An empty list ends at once")
  func empty() {
    _ = iterate([])

    expectEqual(log.entries, ["end"])
  }

  @Test("A future listed twice has two outcomes")
  func twice() {
    let promise = Promise<Int>()
    _ = iterate([promise.future, promise.future])

    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["0 success(1)", "1 success(1)", "end"])
  }

  @Test("An iteration is a consumer of each future until that future completes")
  func consumer() {
    let promises = sources(2)
    let futures = promises.map(\.future)
    expectEqual(futures[0].cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
    let sequence = Future.outcomes(of: [futures[1]])
    expectEqual(futures[1].node.consumers, 0)

    let iterator = sequence.makeAsyncIterator()

    expectEqual(futures[1].cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    withExtendedLifetime((iterator, promises)) {}
  }

  @Test(
    "A cancelled task throws, and withdraws from pending futures (law 3, stopping where others wait)", .tags(.law03))
  func cancelled() {
    let promises = sources(3)
    let other = promises[2].future.map { $0 }
    let task = iterate(promises.map(\.future))
    promises[0].succeed(0)
    executor.runAll()
    log.clear()

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["source 1: ifOthers", "CancellationError"] || log.entries == ["CancellationError"])
    expectEqual(promises[1].cancelRequest?.reason.message, "the iterating task was cancelled")
    #expect(promises[2].cancelRequest == nil)
    withExtendedLifetime(promises) { expectEqual(other.state, "pending") }
  }

  @Test("A task cancelled before it iterates throws at once and makes the request")
  func cancelledBefore() {
    let promise = source(log)
    let future = promise.future
    let task = Task(executorPreference: executor) { [log] in
      do {
        for try await _ in Future.outcomes(of: [future]) { log("element") }
      } catch {
        log("\(type(of: error))")
      }
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "CancellationError"])
  }

  @Test("Available outcomes are returned even in a cancelled task")
  func completedInCancelledTask() {
    let promise = source(log)
    let futures = [Future.succeeded(1), promise.future]
    let task = Task(executorPreference: executor) { [log] in
      var iterator = Future.outcomes(of: futures).makeAsyncIterator()
      log("\((try? await iterator.next())??.index ?? -1)")
      do { log("\(try await iterator.next()?.index ?? -1)") } catch { log("\(type(of: error))") }
      log("\((try? await iterator.next()).map { "\($0?.index ?? -1)" } ?? "threw")")
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["0", "source: ifOthers", "CancellationError", "-1"])
  }

  @Test(
    "An iteration that ends early withdraws from pending futures (law 3, stopping where others wait)", .tags(.law03))
  func breaks() {
    let promises = sources(3)
    let other = promises[2].future.map { $0 }
    let futures = promises.map(\.future)
    executor.start { [log] in
      do {
        for try await completion in Future.outcomes(of: futures) {
          log("\(completion.index)")
          break
        }
        log("after")
      } catch {
        log("\(error)")
      }
    }

    promises[0].succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["0", "source 1: ifOthers", "after"])
    expectEqual(promises[1].cancelRequest?.reason.message, "the iteration ended early")
    #expect(promises[2].cancelRequest == nil)
    withExtendedLifetime(promises) { expectEqual(other.state, "pending") }
  }

  @Test("A future listed twice receives one request when both consumers withdraw")
  func twiceWithdrawn() {
    let promise = source(log)
    do { _ = Future.outcomes(of: [promise.future, promise.future]).makeAsyncIterator() }

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A complete iteration makes no request")
  func wentThrough() {
    let promises = sources(2)
    _ = iterate(promises.map(\.future))

    for promise in promises { promise.succeed(1) }
    executor.runAll()

    expectEqual(log.entries, ["0 success(1)", "1 success(1)", "end"])
    #expect(promises.allSatisfy { $0.cancelRequest == nil })
  }

  @Test("A dropped iterator leaves nothing in the futures or in a retained sequence")
  func released() {
    let census = Census()
    let promise = Promise<Probe>()
    let kept = Future.outcomes(of: [promise.future])
    weak var slot: AnyObject?
    for _ in 0..<1_000 {
      let iterator = kept.makeAsyncIterator()
      slot = promise.future.node.lock.withLock { promise.future.node.waiters.entries.first }
      #expect(slot != nil)
      withExtendedLifetime(iterator) {}
    }

    #expect(slot == nil)
    expectEqual(promise.future.node.consumers, 0)
    promise.succeed(census.probe())
    expectEqual(census.alive, 1)
  }

  @Test("Values already returned are released")
  func valuesReleased() {
    let census = Census()
    var promises = (0..<3).map { _ in Promise<Probe>() }
    let remaining = Promise<Probe>()
    let sequence = Locked<OutcomeSequence<Probe>?>(
      Future.outcomes(of: promises.map(\.future) + [remaining.future]))
    let task = executor.start { [log] in
      var iterator = sequence.withLock { $0.take() }?.makeAsyncIterator()
      while (try? await iterator?.next()?.index) != nil { log("\(census.alive)") }
    }

    while let promise = promises.popLast() { promise.succeed(census.probe()) }
    expectEqual(census.alive, 3)
    executor.runAll()

    expectEqual(log.entries, ["2", "1", "0"])
    remaining.completeCancelled()
    executor.runAll()
    withExtendedLifetime(task) {}
  }

  @Test("A sequence can be iterated several times")
  func several() {
    let promise = Promise<Int>()
    let sequence = Future.outcomes(of: [promise.future])
    for name in ["first", "second"] {
      executor.start { [log] in
        do {
          for try await completion in sequence { log("\(name) \(completion.outcome.state)") }
        } catch {}
      }
    }

    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["first success(1)", "second success(1)"])
  }

  @Test("A sequence of 100,000 futures returns every outcome, in any order of completion", .timeLimit(.minutes(20)))
  func many() {
    let promises = (0..<100_000).map { _ in Promise<Int>() }
    let sum = Locked(0)
    executor.start { [futures = promises.map(\.future)] in
      do {
        for try await completion in Future.outcomes(of: futures) { sum.withLock { $0 += completion.index } }
      } catch {}
    }

    for promise in promises.shuffled() { promise.succeed(1) }
    executor.runAll()

    expectEqual(sum.value, (0..<100_000).reduce(0, +))
  }
}
