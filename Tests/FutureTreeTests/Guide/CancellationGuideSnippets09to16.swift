import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
@Suite("Guide: Cancellation, laws 9 to 16")
struct CancellationGuideSnippets09to16 {
  private let print = Transcript()

  @Test("Law 9: handlers run")
  func law9() {
    // guide 9
    let upload = Promise<String>()
    upload.onRequestCancel { _ in
      print("close the file")  // close the file
      return .complete(.success("too late to decide"))
    }
    upload.onRequestCancel { _ in
      print("stop sending")  // stop sending
      return .complete(.cancelled)
    }

    print(upload.future.previewCancel())  // delivered to 2 handlers, reached 1 future
    upload.future.cancel(reason: "enough")
    upload.future.observe { print($0.ending) }  // cancelled
    // end

    #expect(
      print.lines == ["delivered to 2 handlers, reached 1 future", "stop sending", "close the file", "cancelled"])
  }

  @Test("Law 10: one consumer, one count")
  func law10() {
    // guide 10
    let (login, inbox) = (Promise<String>(), Promise<Int>())
    let mail = login.future.flatMap { _ in inbox.future }

    print(login.future.previewCancel(.doNotForwardIfOthersWaiting))  // withheld by 1 other consumer, reached 1 future
    login.succeed("session")
    print(inbox.future.previewCancel(.doNotForwardIfOthersWaiting))  // withheld by 1 other consumer, reached 1 future

    let badge = mail.map { "\($0) new" }
    badge.cancel(.doNotForwardRequest)  // `mail` lost its last consumer and has no interest.
    print(inbox.future.previewCancel(.doNotForwardIfOthersWaiting))
    // stored until a handler is installed, reached 1 future
    mail.map { print("new:", $0) }  // new: 3
    print(inbox.future.previewCancel(.doNotForwardIfOthersWaiting))  // withheld by 1 other consumer, reached 1 future
    inbox.succeed(3)
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 1 future", "withheld by 1 other consumer, reached 1 future",
        "stored until a handler is installed, reached 1 future", "withheld by 1 other consumer, reached 1 future",
        "new: 3",
      ])
  }

  @Test("Law 11: bodies that have not begun")
  func law11() {
    // guide 11
    let (download, pool) = (Promise<String>(), ManualExecutor())
    let parsed = download.future.map { text in
      print("parsing")
      return text.count
    }
    let stored = parsed.ensure { print("file closed") }  // file closed
    let resized = Future(on: pool.executor) { print("resizing") }

    print(parsed.cancel())  // stored until a handler is installed, reached 2 futures
    download.succeed("a page")
    stored.observe { print("stored \($0.ending)") }  // stored cancelled
    print(resized.cancel())  // completed at once, reached 1 future
    pool.runAll()
    // end

    #expect(
      print.lines == [
        "stored until a handler is installed, reached 2 futures", "file closed", "stored cancelled",
        "completed at once, reached 1 future",
      ])
  }

  @Test("Law 12: diamonds")
  func law12() {
    // guide 12
    let download = Promise<String>()
    download.onRequestCancel { _ in
      print("asked")  // asked
      return .complete(.cancelled)
    }
    let title = download.future.map { $0.uppercased() }
    let size = download.future.map { $0.count }
    let page = Future.zip(title, size)
    page.observe { print("page \($0.ending)") }  // page cancelled

    print(page.cancel(.doNotForwardIfOthersWaiting))  // delivered to 1 handler, reached 4 futures
    // end

    #expect(print.lines.first == "asked")
    #expect(print.lines.contains("page cancelled"))
    #expect(print.lines.contains("delivered to 1 handler, reached 4 futures"))
    #expect(print.lines.count == 3)
  }

  @Test("Law 13: tokens")
  func law13() {
    // guide 13
    let (download, feed) = (Promise<String>(), Promise<String>())
    for promise in [download, feed] {
      promise.onRequestCancel { request in
        print("asked: \(request.reason.message)")  // asked: the tab was closed
        return .complete(.cancelled)
      }
    }
    var tokens = [download.future.cancelToken(), download.future.cancelToken()]

    let receipt = tokens[0].cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")
    print(receipt)  // withheld by 1 other consumer, reached 1 future
    tokens.removeLast()  // The last consumer withdraws: the withheld request is delivered.

    let bag = CancelBag()
    feed.future.cancelToken().store(in: bag)
    bag.cancel(reason: "the tab was closed")
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 1 future", "asked: the tab was closed", "asked: the tab was closed",
      ])
    #expect(feed.future.state == "cancelled")
  }

  @Test("Law 14: awaiting")
  func law14() async {
    // guide 14
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.reason.message)")  // asked: the awaiting task was cancelled
      return .complete(.cancelled)
    }
    let task = Task { try await download.future.value }
    task.cancel()

    do { _ = try await task.value } catch { print(type(of: error)) }  // CancellationError
    do { _ = try await download.future.value } catch { print(type(of: error)) }  // FutureCancelled
    // end

    #expect(print.lines == ["asked: the awaiting task was cancelled", "CancellationError", "FutureCancelled"])
  }

  @Test("Law 15: a task as a source")
  func law15() async {
    // guide 15
    let (began, image) = (Promise<Void>(), Promise<String>())
    let thumbnail = Future.task {
      began.succeed()
      return try await image.future.value.count
    }
    _ = await began.future.outcome

    print(thumbnail.cancel())  // delivered to 1 handler, reached 1 future
    print(await thumbnail.outcome.ending)  // cancelled
    let refused = Future.succeeded(1).map { _ -> Int in throw CancellationError() }
    refused.observe { print("refused \($0.ending)") }  // refused cancelled
    // end

    #expect(
      print.lines == ["delivered to 1 handler, reached 1 future", "cancelled", "refused cancelled"])
  }

  @Test("Law 16: a dropped promise")
  func law16() {
    // guide 16
    func load(isWanted: Bool) -> Future<String> {
      let promise = Promise<String>()
      if !isWanted { promise.future.cancel(reason: "not wanted") }
      return promise.future  // The promise is dropped here, before it is completed.
    }

    load(isWanted: false).onCancel { print($0.message) }  // not wanted
    load(isWanted: true).onFailure { print($0 is BrokenPromise) }  // true
    // end

    #expect(print.lines == ["not wanted", "true"])
  }
}
