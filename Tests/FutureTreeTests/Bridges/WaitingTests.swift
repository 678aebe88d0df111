import Dispatch
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Waiting: wait(for:)")
struct WaitingTests {
  @Test("a future that has completed returns its outcome at once")
  func completed() throws {
    #expect(try Future.succeeded(1).wait(for: .zero)?.state == "success(1)")
  }

  @Test("it returns nil when the time has passed, withdraws its interest and asks nobody")
  func timesOut() throws {
    let log = Recorder()
    let promise = source(log)

    let outcome = try promise.future.wait(for: .zero)

    #expect(outcome == nil)
    #expect(promise.future.tree().entries[0].consumers == 0)
    #expect(log.entries == [])
  }

  @Test("another thread completes it; until then the thread that waits is a consumer")
  func anotherThread() throws {
    let promise = Promise<Int>()
    let thread = JoinedThread {
      spin { promise.future.tree().entries[0].consumers == 1 }
      promise.succeed(1)
    }

    let outcome = try promise.future.wait(for: .seconds(60))

    thread.join()
    #expect(outcome?.state == "success(1)")
  }

  @Test("when the wait was the last to want it, what was withheld is delivered (law 13)")
  func withheldAfterwards() throws {
    let log = Recorder()
    let promise = source(log)
    var token: CancelToken? = promise.future.cancelToken()
    promise.future.cancel(.doNotForwardIfOthersWaiting)

    withExtendedLifetime(token) {}
    token = nil
    let outcome = try promise.future.wait(for: .zero)

    #expect(outcome == nil)
    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("inside a callback it first runs what this thread still has to tell (law 19)")
  func runsPending() throws {
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let log = Recorder()
    let behind = second.future.map { $0 * 2 }
    first.future.observe { _ in
      second.succeed(2)
      log(behind.state)
      log((try? behind.wait(for: .seconds(60)))?.state ?? "hung")
    }

    first.succeed(1)

    #expect(log.entries == ["pending", "success(4)"])
  }

  @Test("what the same completion has yet to tell is told first as well")
  func siblings() throws {
    let promise = Promise<Int>()
    let log = Recorder()
    let box = Locked<Future<Int>?>(nil)
    promise.future.observe { _ in log((try? box.value?.wait(for: .seconds(60)))?.state ?? "hung") }
    box.value = promise.future.map { $0 + 1 }

    promise.succeed(1)

    #expect(log.entries == ["success(2)"])
  }

  @Test("waits inside waits")
  func nested() throws {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let log = Recorder()
    for (index, promise) in promises.enumerated().dropLast() {
      promise.future.observe { _ in
        promises[index + 1].succeed(index + 1)
        log("\(index): \((try? promises[index + 1].future.map { $0 }.wait(for: .seconds(60)))?.state ?? "hung")")
      }
    }

    promises[0].succeed(0)

    #expect(log.entries == ["1: success(2)", "0: success(1)"])
  }

  @Test("on the serial executor on which the future must run it throws")
  func ownExecutor() {
    let executor = ManualExecutor()
    let log = Recorder()
    let later = Future.succeeded(1).map(on: executor.executor) { $0 }.named("later")
    let behind = later.map { $0 }
    let first = Future(on: executor.executor) {
      do { log("\(try behind.wait(for: .seconds(60))?.state ?? "nil")") } catch { log("\(error)") }
    }

    executor.runNext(at: 1)

    #expect(log.count == 1)
    #expect(log.entries[0].hasPrefix("The future \"later\" runs its body on the serial executor that called"))
    withExtendedLifetime(first) {}
  }

  @Test("the same on a dispatch queue, from a block that is not a body")
  func ownQueue() {
    let queue = DispatchQueue(label: "serial")
    let promise = Promise<Int>()
    let future = promise.future.map(on: .queue(queue)) { $0 }

    let error = queue.sync {
      #expect(throws: WaitWouldHang.self) { try future.wait(for: .seconds(60)) }
    }

    #expect(error != nil)
  }

  @Test("a concurrent queue and another queue do not throw")
  func otherQueues() throws {
    let (serial, concurrent) = (DispatchQueue(label: "serial"), DispatchQueue(label: "pool", attributes: .concurrent))
    let onOther = Future(on: .queue(DispatchQueue(label: "other"))) { 1 }
    let onPool = Future.succeeded(2).map(on: .queue(concurrent, isConcurrent: true)) { $0 }

    let outcomes = try serial.sync { try [onOther.wait(for: .seconds(60)), onPool.wait(for: .seconds(60))] }
    let inPool = try concurrent.sync { try onPool.wait(for: .seconds(60)) }

    #expect(outcomes.map { $0?.state } == ["success(1)", "success(2)"])
    #expect(inPool?.state == "success(2)")
  }

  @Test("a task that runs on the executor counts as a body there")
  func taskOnExecutor() {
    let executor = ManualExecutor()
    let log = Recorder()
    let task = Future.succeeded(1).asyncMap(on: executor.executor) { value in
      await Task.yield()
      return value
    }
    executor.runNext()
    let first = Future(on: executor.executor) {
      do { _ = try task.wait(for: .seconds(60)) } catch { log("\(type(of: error))") }
    }

    while log.count == 0, executor.runNext(at: executor.pendingCount - 1) {}

    #expect(log.entries == ["WaitWouldHang"])
    executor.runAll()
    withExtendedLifetime(first) {}
  }

  @Test("in the body of a future that it depends on it throws")
  func ownBody() {
    let box = Locked<Future<Int>?>(nil)
    let log = Recorder()
    let promise = Promise<Int>()
    box.value = promise.future.map { value in
      do { _ = try box.value?.map { $0 }.wait(for: .seconds(60)) } catch { log("\(error)") }
      return value
    }

    promise.succeed(1)

    #expect(log.entries.count == 1)
    #expect(log.entries[0].hasPrefix("`wait(for:)` was called in the body of the future \"map\""))
    #expect(box.value?.state == "success(1)")
  }

  @Test("a negative duration is an error that says where")
  func negative() {
    let error = #expect(throws: InvalidArgument.self) { try Future.succeeded(1).wait(for: .seconds(-1)) }

    #expect(error?.function == "wait(for:)")
  }
}
