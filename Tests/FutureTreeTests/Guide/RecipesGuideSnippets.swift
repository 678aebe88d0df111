import Foundation
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Recipes*, word for word.
@Suite("Guide: Recipes")
struct RecipesGuideSnippets {
  private let print = Transcript()
  private let clock = ManualClock()
  private let screen = Screen()
  private let server = Server()

  /// What a screen shows.
  private final class Screen: Sendable {
    let log = Recorder()

    func startSpinner() { log("start") }
    func stopSpinner() { log("stop") }
    func show(_ rows: [String]) { log("\(rows)") }
    func showProgress(_ finished: Int, of total: Int) { log("\(finished) of \(total)") }
  }

  /// A server whose answers the test gives. It confirms a cancellation at once, unless its work is stuck.
  private final class Server: Sendable {
    let requests = Locked<[(path: String, promise: Promise<[String]>)]>([])
    private let onUpload: @Sendable () -> Void

    init(onUpload: @escaping @Sendable () -> Void = {}) {
      self.onUpload = onUpload
    }

    func load(_ path: String, isStuck: Bool = false) -> Future<[String]> {
      let promise = Promise<[String]>()
      promise.onRequestCancel { _ in isStuck ? .continue : .complete(.cancelled) }
      requests.withLock { $0.append((path, promise)) }
      return promise.future
    }

    func upload(_ photo: String) -> Future<[String]> {
      onUpload()
      return load(photo)
    }

    func stuckUpload() -> Future<[String]> { load("upload", isStuck: true) }
    func complete(_ number: Int) { requests.value[number - 1].promise.succeed(["\(number)"]) }
  }

  @Test("Pull to refresh: the spinner stops with the newest load")
  func pullToRefresh() {
    // guide refresh
    let feed = LatestFuture<[String]>()
    feed.onOutcome { outcome in
      screen.stopSpinner()
      if case .success(let rows) = outcome { screen.show(rows) }
    }
    let refresh = {
      screen.startSpinner()
      feed.run { server.load("feed") }
    }
    // end

    refresh()
    refresh()
    #expect(screen.log.entries == ["start", "start"])
    server.complete(1)
    server.complete(2)
    #expect(screen.log.entries == ["start", "start", "stop", #"["2"]"#])
  }

  @Test("Search as you type: one search after a pause")
  func search() {
    // guide search
    let results = LatestFuture<[String]>()
    results.onOutcome { outcome in
      if case .success(let rows) = outcome { screen.show(rows) }
    }
    let typed = { (text: String) in
      results.run { Future.after(.milliseconds(300), clock: clock).flatMap { server.load("search?\(text)") } }
    }
    // end

    for text in ["f", "fu"] {
      _ = typed(text)
      clock.advance(by: .milliseconds(299))
    }
    #expect(server.requests.value.isEmpty && clock.timerCount == 1)
    clock.advance(by: .milliseconds(1))
    _ = typed("fut")
    clock.advance(by: .milliseconds(300))
    server.complete(2)

    #expect(server.requests.value.map(\.path) == ["search?fu", "search?fut"])
    #expect(server.requests.value[0].promise.cancelRequest?.reason.kind == .superseded)
    #expect(screen.log.entries == [#"["2"]"#])
  }

  @Test("A batch that keeps its results")
  func batch() {
    let photos = ["a", "b", "c", "d"]
    // guide batch
    let uploads = Future.traverseSettled(photos, atMost: 2, onProgress: screen.showProgress) { photo in
      server.upload(photo)
    }
    server.complete(1)
    uploads.cancel(reason: "no network")
    uploads.map { outcomes in
      let left = zip(photos, outcomes).filter { $1?.ending != .succeeded }.map(\.0)
      print(left)  // ["b", "c", "d"]
    }
    // end

    #expect(print.lines == ["[\"b\", \"c\", \"d\"]"])
    #expect(screen.log.entries == ["1 of 4", "2 of 4", "3 of 4"])
  }

  @Test("A queue with a limit")
  func queue() {
    // guide queue
    let queue = FutureQueue(atMost: 2)
    let thumbnails = (1...4).map { number in
      queue.add(priority: .low) { server.load("thumbnail \(number)") }
    }
    let portrait = queue.add(priority: .high) { server.load("portrait") }.named("portrait")
    thumbnails[2].cancel()  // leaves the queue at once
    print(queue.waiting.map(\.name))  // ["portrait", "futureQueue"]
    server.complete(1)
    print(queue.runningCount, queue.waitingCount)  // 2 1
    // end

    #expect(server.requests.value.map(\.path) == ["thumbnail 1", "thumbnail 2", "portrait"])
    #expect(print.lines == ["[\"portrait\", \"futureQueue\"]", "2 1"])
    (2...4).forEach(server.complete)
    #expect(queue.runningCount == 0 && portrait.isCompleted)
  }

  @Test("A root for several branches")
  func root() {
    // guide root
    let branches = [server.load("news"), server.load("mail")]
    let root = Future.allSettled(branches).named("root")
    root.cancel(reason: "signed out")
    root.observe { _ in print(branches.map(\.isCompleted)) }  // [true, true]
    // end

    #expect(print.lines == ["[true, true]"])
  }

  @Test("Control-C")
  func controlC() async {
    await #expect(processExitsWith: .success) {
      let (print, server) = (Transcript(), Server { kill(getpid(), SIGINT) })
      // guide control-C
      let signals = ProcessSignals()
      let copies = ["a", "b"].map { server.upload($0) }
      let program = Future.allSettled(copies).cancel(when: signals, grace: .seconds(5))
      signals.token.register { reason in print("ending: \(reason.message)") }  // ending: SIGINT
      let outcome = await program.outcome
      print(outcome.ending, signals.exitCode ?? 0)  // cancelled 130
      // end

      #expect(print.lines == ["ending: SIGINT", "cancelled 130"])
    }
  }

  @Test("The end of an app")
  func end() {
    // guide end
    let upload = server.stuckUpload().named("upload")
    let report = upload.cancel(grace: .seconds(5), reason: "the app quits", clock: clock)
    clock.advance(by: .seconds(5))
    report.map { print($0.pending) }  // ["upload"]
    // end

    #expect(print.lines == ["[\"upload\"]"])
  }
}
