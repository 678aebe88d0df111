import Dispatch
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Waiting: wait(for:)")
struct WaitingTests {
  @Test("A completed future returns its outcome at once")
  func completed() throws {
    try expectEqual(Future.succeeded(1).wait(for: .zero)?.state, "success(1)")
  }

  @Test("A wait that times out returns nil, withdraws its interest and makes no request")
  func timesOut() throws {
    let log = Recorder()
    let promise = source(log)

    let outcome = try promise.future.wait(for: .zero)

    #expect(outcome == nil)
    expectEqual(promise.future.tree().entries[0].consumers, 0)
    expectEqual(log.entries, [])
  }

  @Test("The blocked thread is a consumer until another thread completes the future")
  func anotherThread() throws {
    let promise = Promise<Int>()
    let thread = JoinedThread {
      spin { promise.future.tree().entries[0].consumers == 1 }
      promise.succeed(1)
    }

    let outcome = try promise.future.wait(for: .seconds(60))

    thread.join()
    expectEqual(outcome?.state, "success(1)")
  }

  @Test("The withheld request is delivered when the last wait times out (law 13, tokens)", .tags(.law13))
  func withheldAfterwards() throws {
    let log = Recorder()
    let promise = source(log)
    var token: CancelToken? = promise.future.cancelToken()
    promise.future.cancel(.doNotForwardIfOthersWaiting)

    withExtendedLifetime(token) {}
    token = nil
    let outcome = try promise.future.wait(for: .zero)

    #expect(outcome == nil)
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test(
    "A wait inside a callback first runs pending notifications of its thread (law 19, no user code under a lock)",
    .tags(.law19))
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

    expectEqual(log.entries, ["pending", "success(4)"])
  }

  @Test("A wait inside a callback first runs the pending notifications of the same completion")
  func siblings() throws {
    let promise = Promise<Int>()
    let log = Recorder()
    let box = Locked<Future<Int>?>(nil)
    promise.future.observe { _ in log((try? box.value?.wait(for: .seconds(60)))?.state ?? "hung") }
    box.value = promise.future.map { $0 + 1 }

    promise.succeed(1)

    expectEqual(log.entries, ["success(2)"])
  }

  @Test("Waits can be nested")
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

    expectEqual(log.entries, ["1: success(2)", "0: success(1)"])
  }

  @Test("A wait on the serial executor that the future needs throws")
  func ownExecutor() {
    let executor = ManualExecutor()
    let log = Recorder()
    let later = Future.succeeded(1).map(on: executor.executor) { $0 }.named("later")
    let behind = later.map { $0 }
    let first = Future(on: executor.executor) {
      do { log("\(try behind.wait(for: .seconds(60))?.state ?? "nil")") } catch { log("\(error)") }
    }

    executor.runNext(at: 1)

    expectEqual(log.count, 1)
    #expect(log.entries[0].contains("on which the future \"later\" runs its body."))
    withExtendedLifetime(first) {}
  }

  @Test("A wait in a plain block on the dispatch queue that the future needs throws")
  func ownQueue() {
    let queue = DispatchQueue(label: "serial")
    let promise = Promise<Int>()
    let future = promise.future.map(on: .queue(queue)) { $0 }

    let error = queue.sync {
      #expect(throws: WaitWouldHang.self) { try future.wait(for: .seconds(60)) }
    }

    #expect(error != nil)
  }

  @Test("A wait for a concurrent queue or another queue does not throw")
  func otherQueues() throws {
    let (serial, concurrent) = (DispatchQueue(label: "serial"), DispatchQueue(label: "pool", attributes: .concurrent))
    let onOther = Future(on: .queue(DispatchQueue(label: "other"))) { 1 }
    let onPool = Future.succeeded(2).map(on: .queue(concurrent, isConcurrent: true)) { $0 }

    let outcomes = try serial.sync { try [onOther.wait(for: .seconds(60)), onPool.wait(for: .seconds(60))] }
    let inPool = try concurrent.sync { try onPool.wait(for: .seconds(60)) }

    expectEqual(outcomes.map { $0?.state }, ["success(1)", "success(2)"])
    expectEqual(inPool?.state, "success(2)")
  }

  @Test("A wait on the executor that a task needs throws")
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

    expectEqual(log.entries, ["WaitWouldHang"])
    executor.runAll()
    withExtendedLifetime(first) {}
  }

  @Test("A wait in the body of a future that it depends on throws")
  func ownBody() {
    let box = Locked<Future<Int>?>(nil)
    let log = Recorder()
    let promise = Promise<Int>()
    box.value = promise.future.map { value in
      do { _ = try box.value?.map { $0 }.wait(for: .seconds(60)) } catch { log("\(error)") }
      return value
    }

    promise.succeed(1)

    expectEqual(log.entries.count, 1)
    #expect(log.entries[0].contains("in the body of the future \"map\""))
    expectEqual(box.value?.state, "success(1)")
  }

  @Test("A negative duration throws an error that names the function")
  func negative() {
    let error = #expect(throws: InvalidArgument.self) { try Future.succeeded(1).wait(for: .seconds(-1)) }

    expectEqual(error?.function, "wait(for:)")
  }
}
