import FutureTree
import TestSupport
import Testing

/// The code of the guide *Migrating from FutureKit*, word for word. `GuideTests` compares the two.
@Suite("Guide: Migrating from FutureKit")
struct MigratingFromFutureKitGuideSnippets {
  private struct Stopped: Error {}
  private let print = Transcript()
  private let client = PageClient()

  // guide callback
  func text(of page: String) -> Future<String> {
    let promise = Promise<String>()
    let call = client.get(page) { text, error in
      if let text {
        promise.succeed(text)
      } else if error is Stopped {
        promise.completeCancelled()
      } else {
        promise.fail(error ?? Stopped())
      }
    }
    promise.onRequestCancel { _ in
      call.stop()
      return .continue  // The callback completes the promise.
    }
    return promise.future
  }
  // end

  @Test("A request is forwarded to the current upstream")
  func chain() {
    // guide chain
    let comments = text(of: "/user").onSuccess { user in text(of: "/comments/\(user)") }
    let token = comments.cancelToken()
    client.answer("/user", "ada")

    print(token.cancel(reason: "the page was closed"))  // delivered to 1 handler, reached 2 futures
    print(client.stopped)  // ["/comments/ada"]
    client.fail("/comments/ada", Stopped())
    comments.onCancel { print($0.message) }  // the page was closed
    // end

    #expect(
      print.lines == [
        "delivered to 1 handler, reached 2 futures", "[\"/comments/ada\"]", "the page was closed",
      ])
  }

  @Test("A promise without an owner is broken; a handler can retain it")
  func held() {
    // guide held
    func forgotten() -> Future<String> {
      let promise = Promise<String>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      return promise.future  // The promise is dropped after this line.
    }

    func untilCancelled() -> Future<String> {
      let promise = Promise<String>()
      promise.onRequestCancel { _ in withExtendedLifetime(promise) { .complete(.cancelled) } }
      return promise.future
    }

    print(forgotten().outcomeIfCompleted?.ending == .failed)  // true
    let held = untilCancelled()
    print(held.isCompleted)  // false
    held.cancel()  // Completes the future, and releases the handler and the promise.
    // end

    #expect(print.lines == ["true", "false"])
  }

  /// The public names of FutureKit 3.5.
  static let names = [
    "Promise<T>()", "future", "complete(_:)", "completeWithSuccess(_:)", "completeWithFail(_:)", "completeWithCancel()",
    "completeWithCancellation()", "completeUsingFuture(_:)", "completeWithBlock(_:)", "completeWithBlocks(…)",
    "tryComplete(_:)", "failIfNotCompleted(_:)", "onRequestCancel(_:)", "CancelRequestResponse",
    "automaticallyCancelOnRequestCancel()", "automaticallyCancel(afterDelay:)", "automaticallyFail(afterDelay:with:)",
    "automaticallyAssertAfter(…)", "Completion.success(_:)", "Completion.fail(_:)", "Completion.cancelled",
    "Completion.completeUsing(_:)", "FutureResult", "CompletionType", "Future(success:)", "Future(fail:)",
    "Future(cancelled:)", "Future(completeUsing:)", "onSuccess", "onFail", "onCancel", "onFailorCancel", "onComplete",
    "map", "mapError", "mapAs", "delay(_:)", "waitForComplete(_:)", "waitForSuccess(_:)", "waitUntilCompleted()",
    "waitForResult()", "IfNotCompleted", "checkResult", "isCompleted", "result", "value", "error", "ignoreFailures()",
    "getCancelToken()", "withCancelToken()", "CancellationToken", "cancel(_:)", "cancelCanBeRequested",
    "DoNotForwardCancelRequestIfThereAreOtherFuturesWaiting", "DoNotForwardRequest",
    "ForceThisFutureToBeCancelledImmediately", ".primary", ".current", ".immediate", ".stackCheckingImmediate",
    ".currentAsync", ".async", ".default", ".userInteractive", ".userInitiated", ".utility", ".background", ".main",
    ".mainImmediate", ".mainAsync", ".queue(_:)", ".operationQueue(_:)", ".managedObjectContext(_:)", ".custom(_:)",
    "execute(afterDelay:)", "execute(after:)", "repeatExecution(…)", "createConcurrentQueue(…)",
    "createOperationQueue(…)", "FutureBatch", "FutureBatchOf<T>", "batchFuture", "resultsFuture", "onEachComplete",
    "onFirstFail", "cancelRemainingFuturesOnFirstFail", "combineWith(_:)", "combineFutures(…)", "FutureFIFO",
    "FutureCache", "FutureOperation", "FutureThread",
  ]

  @Test("Every public name has a row")
  func tables() throws {
    let guide = try #require(Guide.all.first { $0.name == "MigratingFromFutureKit" })
    let rows = try guide.page().rows
    let named = Set(rows.flatMap { $0[0].split(separator: "`").map(String.init) })

    #expect(Self.names.filter { !named.contains($0) } == [])
    // The tables of names have three columns, the table of defects has two.
    #expect(rows.filter { $0.count != 2 && $0.count != 3 } == [])
    #expect(rows.count { $0.count == 2 } >= 30)
  }
}
