import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import Synchronization
import TestSupport
import Testing

/// The code of the article *Resetting*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Resetting")
struct ResettingGuideSnippets {
  private let print = Transcript()
  private let mock = MockLoader()

  @Test("Signing out resets the chain")
  func reset() {
    let api: any HTTPLoader = ResetGuard() --> mock

    // guide reset
    api.reset().observe { outcome in
      print("signed out: \(outcome.ending)")  // signed out: succeeded
    }
    // end

    #expect(print.lines == ["signed out: succeeded"])
  }

  @Test("A preview and a receipt")
  func receipts() throws {
    let clock = ManualClock()
    let held = mock.hold(whenCancelled: .ignore)
    let environment = try ServerEnvironment(host: "example.com")
    let api: any HTTPLoader =
      ResetGuard() --> Autocancel(clock: clock) --> ApplyEnvironment(environment) --> mock

    // guide receipts
    let title = api.get("posts/1").map { $0.status }.named("title")
    print(api.previewReset())
    let reset = api.resetWithReceipt(clock: clock)
    reset.observe { outcome in if case .success(let receipt) = outcome { print(receipt) } }
    clock.advance(by: .seconds(5))  // The transport does not confirm the cancellation.
    // end

    let drawings = try Guide("Resetting", of: "FutureTreeHTTP").page().blocks.filter { $0.language == "text" }
    #expect(drawings.map(\.text) == [print.lines.joined(separator: "\n") + "\n"])
    #expect(title.isCompleted)
    held.complete(.cancelled)
  }

  // guide state
  final class LatestResponse: HTTPLayer {
    fileprivate let latest = Mutex(HTTPResponse?.none)

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).map { response in
        self.latest.withLock { $0 = response }
        return response
      }
    }

    func wipe(_ notes: ResetNotes) -> Future<Void> {
      latest.withLock { $0 = nil }
      return .succeeded
    }
  }
  // end

  @Test("A response from before a reset writes nothing (H6, refuse, drain, wipe)")
  func state() {
    let (layer, clock) = (LatestResponse(), ManualClock())
    let held = mock.hold("/old", whenCancelled: .ignore)
    mock.on("/new", .status(.ok))
    let api = ResetGuard() --> Autocancel(clock: clock) --> layer --> mock
    let old = api.load(anyRequest("/old"))

    let reset = api.reset()
    clock.advance(by: .seconds(5))
    #expect(old.text == "cancelled")
    held.answer()

    #expect(reset.text == "success" && layer.path == nil)
    _ = api.load(anyRequest("/new"))
    #expect(layer.path == "/new")
  }

  private struct Thumbnails: HTTPLayer {
    let deleteFiles: @Sendable () -> Future<Void>

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }

    // guide notes
    func wipe(_ notes: ResetNotes) -> Future<Void> {
      deleteFiles().map { notes.wiped("the thumbnails") }
    }
    // end
  }

  // guide parts
  struct Failover: HTTPLayer {
    let backup: any HTTPLoader

    var parts: [any HTTPPart] { [backup] }

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).recoverWith { _ in backup.load(request) }
    }
  }
  // end

  @Test("A reset includes the chain of a layer")
  func failover() {
    let (main, backup) = (MockLoader(), HeldResets())
    main.on(.any, .fail(Oops()))
    backup.mock.answer()
    let layer = LatestResponse()
    let api = ResetGuard() --> Failover(backup: layer --> backup) --> main

    #expect(api.load(anyRequest("/a")).text == "success" && layer.path == "/a")
    let reset = api.reset()
    backup.endReset()

    #expect(reset.text == "success" && layer.path == nil)
  }

  @Test("A layer adds a line to the receipt")
  func notes() {
    let reset = (Thumbnails { .succeeded } --> mock).resetWithReceipt()

    guard case .success(let receipt)? = reset.outcomeIfCompleted else {
      Issue.record("\(reset)")
      return
    }
    #expect(receipt.wiped == ["the thumbnails"])
  }

  @Test("Each part of a reset runs even if another fails or its future is cancelled (H6, refuse, drain, wipe)")
  func resets() {
    let end = HeldResets()
    let api = Thumbnails { .failed(Oops(name: "disk full")) } --> end

    let failed = api.reset()
    end.endReset()
    let left = api.reset()
    left.cancel()

    #expect([failed, left].map(\.text) == ["resetFailed: disk full", "cancelled"])
    #expect(end.resetCount == 2)
  }
}

extension ResettingGuideSnippets.LatestResponse {
  /// The path of the stored response.
  fileprivate var path: String? { latest.withLock { $0?.request.path } }
}
