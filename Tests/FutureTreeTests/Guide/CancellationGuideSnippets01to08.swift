import FutureTree
import TestSupport
import Testing

/// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
@Suite("Guide: Cancellation, laws 1 to 8")
struct CancellationGuideSnippets01to08 {
  private let print = Transcript()

  @Test("Law 1: requests, not commands")
  func law1() {
    // guide 1
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.reason.message)")  // asked: the tab was closed
      return .continue
    }
    let title = download.future.map { $0.uppercased() }

    print(download.future.cancel(reason: "the tab was closed"))  // delivered to 1 handler, reached 1 future
    print(download.succeed("a page"))  // true; the work completed first
    print(download.completeCancelled())  // false; a future completes once
    title.observe { print($0) }  // success("A PAGE")
    // end

    #expect(
      print.lines == [
        "asked: the tab was closed", "delivered to 1 handler, reached 1 future", "true", "false", "success(\"A PAGE\")",
      ])
  }

  @Test("Law 2: forwarding")
  func law2() {
    // guide 2
    let (user, posts) = (Promise<String>(), Promise<[String]>())
    user.onRequestCancel { _ in .complete(.cancelled) }
    posts.onRequestCancel { _ in .continue }
    let page = Future.zip(user.future, posts.future)
    let greeting = user.future.map { "Hello, \($0)" }

    print(page.cancel())  // delivered to 2 handlers, reached 3 futures
    page.observe { print("page \($0.ending)") }  // page cancelled
    greeting.observe { print("greeting \($0.ending)") }  // greeting cancelled
    print(posts.future.isCompleted)  // false; its handler answered that the work continues
    // end

    #expect(
      print.lines == [
        "delivered to 2 handlers, reached 3 futures", "page cancelled", "greeting cancelled", "false",
      ])
    #expect(greeting.cancelRequest == nil)
  }

  @Test("Law 3: stopping where others wait")
  func law3() {
    // guide 3
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.reason.message)")  // asked: the tab was closed
      return .complete(.cancelled)
    }
    let title = download.future.map { $0.uppercased() }
    let headline = title.map { "\($0)!" }
    let size = download.future.map { $0.count }

    let first = headline.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")
    print(first)  // withheld by 1 other consumer, reached 3 futures
    print(title.isCompleted, headline.isCompleted, download.future.isCompleted)  // true true false
    let second = size.cancel(.doNotForwardIfOthersWaiting, reason: "the app was closed")
    print(second)  // delivered to 1 handler, reached 2 futures
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 3 futures", "true true false", "asked: the tab was closed",
        "delivered to 1 handler, reached 2 futures",
      ])
    #expect([title, headline].states() == ["cancelled", "cancelled"])
    #expect(size.state == "cancelled")
  }

  @Test("Law 4: this future only")
  func law4() {
    // guide 4
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.options)")  // asked: [doNotForwardRequest]
      return .continue
    }
    let title = download.future.map { $0.uppercased() }

    print(title.cancel(.doNotForwardRequest))  // completed at once, reached 1 future
    print(download.cancelRequest == nil)  // true; the upstream received no request
    print(download.future.cancel(.doNotForwardRequest))  // delivered to 1 handler, reached 1 future
    print(download.future.cancel())
    // stored until a handler is installed, reached 1 future; a stronger request is not a duplicate
    // end

    #expect(
      print.lines == [
        "completed at once, reached 1 future", "true", "asked: [doNotForwardRequest]",
        "delivered to 1 handler, reached 1 future", "stored until a handler is installed, reached 1 future",
      ])
    #expect(title.state == "cancelled")
  }

  @Test("Law 5: force")
  func law5() {
    // guide 5
    let download = Promise<String>()
    download.onRequestCancel { request in
      print("asked: \(request.options)")  // asked: []
      return .continue
    }
    let title = download.future.map { $0.uppercased() }

    print(title.cancel(.forceImmediately))  // completed at once, reached 2 futures
    print(title.isCompleted, download.future.isCompleted)  // true false; upstream, the request has no force
    print(download.future.cancel(.forceImmediately))  // completed at once, reached 1 future
    print(download.succeed("a page"))  // false
    // end

    #expect(
      print.lines == [
        "asked: []", "completed at once, reached 2 futures", "true false", "completed at once, reached 1 future",
        "false",
      ])
  }

  @Test("Law 6: shared futures")
  func law6() {
    // guide 6
    let login = Promise<String>()
    login.onRequestCancel { request in
      print("asked: \(request.reason.message)")  // asked: the inbox was closed
      return .complete(.cancelled)
    }
    let session = login.future.shared()
    let inbox = session.map { "inbox of \($0)" }
    let calendar = session.map { "calendar of \($0)" }

    print(inbox.cancel(reason: "the inbox was closed"))  // withheld by 1 other consumer, reached 2 futures
    print(inbox.isCompleted, session.isCompleted)  // true false
    print(calendar.cancel(reason: "the calendar was closed"))  // delivered to 1 handler, reached 2 futures
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 2 futures", "true false", "asked: the inbox was closed",
        "delivered to 1 handler, reached 2 futures",
      ])
    #expect([inbox, calendar].states() == ["cancelled", "cancelled"])
  }

  @Test("Law 7: handlers answer")
  func law7() {
    // guide 7
    let (search, page, upload) = (Promise<String>(), Promise<String>(), Promise<String>())
    let partsDeleted = Promise<Void>()
    search.onRequestCancel { _ in .complete(.cancelled) }
    page.onRequestCancel { _ in .complete(.completeUsing(.succeeded("an old page"))) }
    upload.onRequestCancel { request in
      partsDeleted.future.observe { _ in request.complete(.cancelled(request.reason)) }
      return .continue
    }

    for promise in [search, page, upload] { promise.future.cancel() }
    search.future.observe { print("search \($0.ending)") }  // search cancelled
    page.future.observe { print("page \($0)") }  // page success("an old page")
    partsDeleted.succeed()
    upload.future.observe { print("upload \($0.ending)") }  // upload cancelled
    // end

    #expect(
      print.lines == ["search cancelled", "page success(\"an old page\")", "upload cancelled"])
  }

  @Test("Law 8: no request is lost")
  func law8() {
    // guide 8
    let (login, inbox) = (Promise<String>(), Promise<String>())
    let mail = login.future.ensure { print("login over") }  // login over
    print(mail.cancel(reason: "left"))  // stored until a handler is installed, reached 2 futures

    login.onRequestCancel { request in
      print("login asked: \(request.reason.message)")  // login asked: left
      return .continue
    }
    inbox.onRequestCancel { request in
      print("inbox asked: \(request.reason.message)")  // inbox asked: left
      return .complete(.cancelled)
    }
    login.complete(.completeUsing(inbox.future))
    // end

    #expect(
      print.lines == [
        "stored until a handler is installed, reached 2 futures", "login asked: left", "inbox asked: left",
        "login over",
      ])
    #expect(mail.state == "cancelled")
  }
}
