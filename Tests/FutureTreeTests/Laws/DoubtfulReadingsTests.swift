import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Claims about which the laws are silent or admit two readings, and where the library chose the other one when these
/// tests were written. Each says why a user would expect it.
@Suite("Doubtful readings")
struct DoubtfulReadingsTests {
  @Test("an observation that was ended while it was queued on its executor is not called")
  func onExecutor() {
    // `end()` after the completion, before the executor got to it: who ended it does not expect a call.
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.future.observe(on: executor.executor) { log("kept \($0.state)") }
    let ended = promise.future.observe(on: executor.executor) { log("ended \($0.state)") }

    promise.succeed(1)
    ended.remove()
    #expect(log.entries == [])
    executor.runAll()

    #expect(log.entries == ["kept success(1)"])
  }

  @Test("law 9: a handler that was ended by one that ran before it does not run")
  func endedByAnother() {
    // Two readings: "all of them run" was decided when the request came, or a handler that was ended runs no more. Who
    // calls `end()` has freed what the handler would free.
    let log = Recorder()
    let promise = Promise<Int>()
    let first = promise.onRequestCancel { _ in
      log("first")
      return .continue
    }
    promise.onRequestCancel { _ in
      first.remove()
      log("second")
      return .continue
    }

    promise.future.cancel()

    #expect(log.entries == ["second"])
  }

  @Test("a reason made elsewhere keeps its own file and line")
  func madeElsewhere() {
    // Two readings: `cancel` always stamps its own place, or only where the reason has none (a literal). `init` takes a
    // file and a line, which would be dead otherwise, and a reason that is passed on would lose who asked.
    let reason = CancellationReason("kept", fileID: "Other/Place.swift", line: 7)
    let promise = Promise<Int>()

    promise.future.cancel(.forceImmediately, reason: reason)

    #expect(promise.future.reason == reason)
    #expect(promise.future.reason?.fileID.description == "Other/Place.swift")
    #expect(promise.future.reason?.line == 7)
  }

  @Test("a handler that passes its request on to another future keeps who asked")
  func passedOnByHandler() {
    let other = Promise<Int>()
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      other.future.cancel(request.options, reason: request.reason)
      return .continue
    }

    let line: UInt = #line + 1
    promise.future.cancel(reason: "asked")

    #expect(other.cancelRequest?.reason.message == "asked")
    #expect(other.cancelRequest?.reason.line == line)
  }

  @Test("a promise that is completed with the reason of its request keeps who asked")
  func completedWithRequest() throws {
    let promise = Promise<Int>()
    let sealed = Promise<Int>()
    let line: UInt = #line + 1
    for future in [promise.future, sealed.future] { future.cancel(reason: "asked") }

    promise.completeCancelled(try #require(promise.cancelRequest?.reason))
    sealed.complete(.cancelled(try #require(sealed.cancelRequest?.reason)))

    #expect([promise.future.reason?.line, sealed.future.reason?.line] == [line, line])
  }
}
