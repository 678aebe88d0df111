import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Getting started*, word for word. `GuideTests` compares the two.
@Suite("Guide: Getting started")
struct GettingStartedGuideSnippets {
  private struct Offline: Error {}
  private let print = Transcript()
  private let client = PageClient()

  @Test("A future and an operator")
  func future() async throws {
    // guide future
    let count = Future { "to be or not to be".split(separator: " ").count }
    let report = count.map { "\($0) words" }

    print(try await report.value)  // 6 words
    // end

    #expect(print.lines == ["6 words"])
  }

  @Test("operators")
  func operators() {
    // guide operators
    let name = Promise<String>()
    let greeting = name.future
      .map { name in "Hello, \(name)" }  // Transforms the value.
      .recover { _ in "Hello, guest" }  // Replaces a failure with a value.
      .ensure { print("asked for a name") }  // asked for a name; the body runs for every outcome

    greeting.observe { print($0) }  // success("Hello, guest")
    name.fail(Offline())
    // end

    #expect(print.lines == ["asked for a name", "success(\"Hello, guest\")"])
  }

  @Test("A closure of several statements names its result")
  func closures() {
    // guide closures
    let draft = Promise<String>()
    let shout = draft.future
      .onSuccess { text -> Future<String> in  // Several statements: the result type is written.
        guard !text.isEmpty else { return .failed(Offline()) }
        return load("/shout?\(text)")
      }
      .onComplete { .success("\($0.ending)") }  // One expression: the compiler infers the result.

    draft.succeed("")
    shout.observe { print($0) }  // success("failed")
    // end

    #expect(print.lines == ["success(\"failed\")"])
  }

  // guide promise
  func load(_ path: String) -> Future<String> {
    let promise = Promise<String>()
    let call = client.get(path) { text, error in
      if let text { promise.succeed(text) } else { promise.fail(error ?? Offline()) }
    }
    promise.onRequestCancel { _ in
      call.stop()  // The client makes no callback after this,
      return .complete(.cancelled)  // so the handler completes the future.
    }
    return promise.future
  }
  // end

  // guide wrapping
  func loadAndConfirm(_ path: String) -> Future<String> {
    .wrappingOptionals { completion in
      client.get(path, completion)
    } cancel: { call in
      call.stop()
    }
  }
  // end

  @Test("The promise completes with the callback's result, or cancelled")
  func promise() {
    let pages = [load("/a"), load("/b"), load("/c"), loadAndConfirm("/d")]

    client.answer("/a", "A")
    client.fail("/b", Offline())
    pages[2].cancel()
    pages[3].cancel()
    client.fail("/d", CancellationError())

    #expect(pages.states() == ["success(A)", "failure(Offline())", "cancelled", "cancelled"])
    #expect(client.stopped == ["/c", "/d"])
  }

  @Test("Cancelling one branch")
  func branch() {
    // guide branch
    let page = load("/page")
    let title = page.map { $0.uppercased() }
    let size = page.map { $0.count }

    print(title.cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed"))
    // withheld by 1 other consumer, reached 2 futures
    print(title.isCompleted, client.stopped)  // true []; `size` still has interest in the page
    print(size.cancel(.doNotForwardIfOthersWaiting))  // delivered to 1 handler, reached 2 futures
    print(client.stopped)  // ["/page"]
    // end

    #expect(
      print.lines == [
        "withheld by 1 other consumer, reached 2 futures", "true []", "delivered to 1 handler, reached 2 futures",
        "[\"/page\"]",
      ])
  }

  @Test("awaiting")
  func awaiting() async {
    let page = load("/page").named("page")
    page.cancel(reason: "the tab was closed")

    // guide await
    switch await page.outcome {
    case .success(let text): print(text)
    case .failure(let error): print("failed: \(error)")
    case .cancelled(let reason): print("cancelled: \(reason.message)")  // cancelled: the tab was closed
    }
    // end

    #expect(print.lines == ["cancelled: the tab was closed"])
  }

  // guide test
  @Test("A timeout fails the page and cancels its download")
  func slowPage() {
    let (download, clock) = (Promise<String>(), ManualClock())
    let page = download.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    #expect(page.outcomeIfCompleted?.ending == .failed)
    #expect(download.cancelRequest?.reason.message == "timed out after 5 s")
  }

  @Test("A cancelled page is not parsed")
  func notParsed() {
    let (parser, parsed) = (ManualExecutor(), Promise<Void>())
    let page = Future.succeeded("<h1>").map(on: parser.executor) { text in
      parsed.succeed()
      return text.count
    }

    page.cancel(reason: "the tab was closed")
    parser.runAll()

    #expect(page.outcomeIfCompleted?.ending == .cancelled)
    #expect(!parsed.future.isCompleted)
  }
  // end
}

/// A client with completion handlers, as in existing code.
final class PageClient: Sendable {
  typealias Completion = @Sendable (String?, (any Error)?) -> Void

  struct Call: Sendable {
    let stop: @Sendable () -> Void
  }

  private let pending = Locked<[String: Completion]>([:])
  private let paths = Locked<[String]>([])

  /// The calls that were cancelled, in order.
  var stopped: [String] { paths.value }

  func get(_ path: String, _ completion: @escaping Completion) -> Call {
    pending.withLock { $0[path] = completion }
    return Call { [paths] in paths.withLock { $0.append(path) } }
  }

  func answer(_ path: String, _ text: String) { take(path)?(text, nil) }

  func fail(_ path: String, _ error: any Error) { take(path)?(nil, error) }

  private func take(_ path: String) -> Completion? {
    pending.withLock { $0.removeValue(forKey: path) }
  }
}
