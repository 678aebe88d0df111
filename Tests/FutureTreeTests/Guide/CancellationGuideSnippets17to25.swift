import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
@Suite("Guide: Cancellation, laws 17 to 25")
struct CancellationGuideSnippets17to25 {
  private let print = Transcript()

  @Test("Law 17: receipts")
  func law17() {
    // guide 17
    let download = Promise<String>()
    let title = download.future.map { $0.uppercased() }
    let size = download.future.map { $0.count }

    print(title.previewCancel(.doNotForwardIfOthersWaiting))  // withheld by 1 other consumer, reached 2 futures
    print(size.cancel(.doNotForwardRequest))  // completed at once, reached 1 future
    print(title.cancel())  // stored until a handler is installed, reached 2 futures
    print(title.cancel())  // duplicate, reached 1 future
    download.onRequestCancel { _ in .complete(.cancelled) }
    let receipt = title.cancel()
    print(receipt)  // too late, the future had been cancelled, reached 1 future
    print(receipt.effect == .tooLate(.cancelled), receipt.reached, receipt.handlers)  // true 1 0
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 2 futures", "completed at once, reached 1 future",
        "stored until a handler is installed, reached 2 futures", "duplicate, reached 1 future",
        "too late, the future had been cancelled, reached 1 future", "true 1 0",
      ])
  }

  @Test("Law 18: provenance")
  func law18() {
    // guide 18
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("handler: \(request.reason.message)")  // handler: the tab was closed
      return .complete(.cancelled)
    }
    let title = download.future.map { $0.uppercased() }

    let line: UInt = #line + 2
    title.onCancel { reason in print(reason.message, reason.line == line) }  // the tab was closed true
    title.cancel(reason: "the tab was closed")
    // end

    #expect(print.lines == ["handler: the tab was closed", "the tab was closed true"])
    #expect(title.reason?.fileID == #fileID)
  }

  @Test("Law 19: no user code under a lock")
  func law19() {
    // guide 19
    let (first, second) = (Promise<Int>(), Promise<Int>())
    second.future.observe { print("second: \($0)") }  // second: success(2)
    first.future.observe { outcome in
      print("first: \(outcome)")  // first: success(1)
      second.succeed(2)
      print(second.future.isCompleted)  // true; its observer has not run yet
    }

    first.succeed(1)
    // end

    #expect(print.lines == ["first: success(1)", "true", "second: success(2)"])
  }

  @Test("Law 20: any depth")
  func law20() {
    // guide 20
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    var last = promise.future
    for _ in 1...100_000 { last = last.map { $0 + 1 } }

    print(last.cancel())  // delivered to 1 handler, reached 100001 futures
    last.observe { print($0.ending) }  // cancelled
    // end

    #expect(print.lines == ["delivered to 1 handler, reached 100001 futures", "cancelled"])
  }

  @Test("Law 21: bounded memory")
  func law21() {
    // guide 21
    let session = Promise<String>()
    for number in 1...1_000 {
      session.future.map { "\($0), request \(number)" }.cancel(.doNotForwardRequest)
      session.future.observe { _ in }.remove()
      session.onRequestCancel { _ in .continue }.remove()
    }
    let request = session.future.map { "\($0), the last request" }

    print(session.future.tree().entries.count)  // 2; the session and the last request
    for _ in 1...3 { session.future.map { $0.count }.cancel() }  // No handler: the session ignores the request.
    print(session.future.tree().entries.count)  // 5; the three futures wait for the outcome
    for _ in 1...3 { session.future.shielded().map { $0.count }.map { -$0 }.cancel() }
    print(session.future.tree().entries.count)  // 5; each branch completed at its shield
    session.succeed("session")
    print(request.tree().entries.count)  // 1; a completed future holds no upstream
    // end

    #expect(print.lines == ["2", "5", "5", "1"])
  }

  @Test("Law 22: ordering is not interest")
  func law22() {
    // guide 22
    let (header, queue) = (Promise<String>(), FutureQueue())
    header.onRequestCancel { _ in .continue }
    let first = queue.add { header.future }
    let second = queue.add { Future.succeeded("body") }
    let third = queue.add { Future.succeeded("index") }

    print(first.previewCancel(.doNotForwardIfOthersWaiting))  // delivered to 1 handler, reached 2 futures
    second.cancel(reason: "no body")
    second.observe { print($0.ending) }  // cancelled
    print(header.cancelRequest == nil)  // true; the earlier work received no request
    header.succeed("header")
    third.observe { print($0) }  // success("index")
    // end

    #expect(
      print.lines == ["delivered to 1 handler, reached 2 futures", "cancelled", "true", "success(\"index\")"])
  }

  @Test("Law 23: deciding detaches")
  func law23() {
    // guide 23
    let (near, far, slow) = (Promise<String>(), Promise<String>(), Promise<String>())
    for promise in [far, slow] {
      promise.onRequestCancel { request in
        print("detached: \(request.reason.message)")
        return .continue
      }
    }
    let page = Future.race([near.future, far.future])
    near.succeed("a page")  // detached: `race` completed without this future
    page.observe { print($0) }  // success("a page")

    let clock = ManualClock()
    let limited = slow.future.timeout(after: .seconds(5), clock: clock)
    clock.advance(by: .seconds(5))  // detached: timed out after 5 s
    limited.onFailure { print($0 is TimeoutError) }  // true
    // end

    #expect(
      print.lines == [
        "detached: `race` completed without this future", "success(\"a page\")", "detached: timed out after 5 s",
        "true",
      ])
  }
  @Test("Law 24: lingering")
  func law24() {
    // guide 24
    let clock = ManualClock()
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.reason.message)")  // asked: scrolled away
      return .continue
    }
    let feed = download.future.shared(linger: .seconds(5), clock: clock).named("feed")

    print(feed.map { $0.count }.cancel(reason: "scrolled away"))  // lingering, reached 2 futures
    clock.advance(by: .seconds(4))
    let row = feed.map { $0.count }  // The timer stops: the download continues.
    clock.advance(by: .seconds(60))
    print(row.cancel(reason: "closed"))  // lingering, reached 2 futures
    clock.advance(by: .seconds(5))  // The requests are equally strong: the earlier one is delivered.
    // end

    #expect(
      print.lines == ["lingering, reached 2 futures", "lingering, reached 2 futures", "asked: scrolled away"])
  }

  @Test("Law 25: grace")
  func law25() {
    // guide 25
    let clock = ManualClock()
    let (quick, stuck) = (Promise<Int>(), Promise<Int>())
    quick.onRequestCancel { _ in .complete(.cancelled) }
    stuck.onRequestCancel { _ in .continue }

    quick.future.cancel(grace: .seconds(5), clock: clock)
      .map { print($0) }  // delivered to 1 handler, reached 1 future, then completed within the grace period

    let upload = stuck.future.named("upload")
    let report = upload.map { $0 }.cancel(grace: .seconds(5), reason: "the app quits", clock: clock)
    clock.advance(by: .seconds(5))
    report.map { print($0.forced != nil, $0.pending) }  // true ["upload"]
    print(upload.isCompleted)  // false; its work has not ended
    // end

    #expect(
      print.lines == [
        "delivered to 1 handler, reached 1 future, then completed within the grace period",
        "true [\"upload\"]", "false",
      ])
  }
}
