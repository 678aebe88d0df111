import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Claims about which the laws are silent or admit two readings. Each test says why a user expects the behavior.
@Suite("Ambiguous readings")
struct DoubtfulReadingsTests {
  @Test("An observation that is removed while its call is queued on its executor is not called")
  func onExecutor() {
    // `remove()` comes after the completion and before the executor runs the call. Its caller expects no call.
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.future.observe(on: executor.executor) { log("kept \($0.state)") }
    let ended = promise.future.observe(on: executor.executor) { log("ended \($0.state)") }

    promise.succeed(1)
    ended.remove()
    expectEqual(log.entries, [])
    executor.runAll()

    expectEqual(log.entries, ["kept success(1)"])
  }

  // Law 9 (handlers run)
  @Test("A handler that an earlier handler removed does not run")
  func endedByAnother() {
    // Two readings: the request decides that all handlers run, or a removed handler does not run. The caller of
    // `remove()` may have freed the resource that the handler would free.
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

    expectEqual(log.entries, ["second"])
  }

  @Test("A reason made elsewhere keeps its own file and line")
  func madeElsewhere() {
    // Two readings: `cancel` always stamps its own file and line, or only if the reason has none (a literal). `init`
    // takes a file and a line. A forwarded reason keeps the file and line of the first request.
    let reason = CancellationReason("kept", fileID: "Other/Place.swift", line: 7)
    let promise = Promise<Int>()

    promise.future.cancel(.forceImmediately, reason: reason)

    expectEqual(promise.future.reason, reason)
    expectEqual(promise.future.reason?.fileID.description, "Other/Place.swift")
    expectEqual(promise.future.reason?.line, 7)
  }

  @Test("A request that a handler forwards to another future keeps its file and line")
  func forwardedByHandler() {
    let other = Promise<Int>()
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      other.future.cancel(request.options, reason: request.reason)
      return .continue
    }

    let line: UInt = #line + 1
    promise.future.cancel(reason: "asked")

    expectEqual(other.cancelRequest?.reason.message, "asked")
    expectEqual(other.cancelRequest?.reason.line, line)
  }

  @Test("A promise completed with the reason of its request keeps the file and line of that request")
  func completedWithRequest() throws {
    let promise = Promise<Int>()
    let sealed = Promise<Int>()
    let line: UInt = #line + 1
    for future in [promise.future, sealed.future] { future.cancel(reason: "asked") }

    promise.completeCancelled(try #require(promise.cancelRequest?.reason))
    sealed.complete(.cancelled(try #require(sealed.cancelRequest?.reason)))

    expectEqual([promise.future.reason?.line, sealed.future.reason?.line], [line, line])
  }
}
