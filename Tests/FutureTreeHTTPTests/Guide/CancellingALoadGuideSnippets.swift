import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

/// The code of the article *Cancelling a load*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Cancelling a load")
struct CancellingALoadGuideSnippets {
  private let print = Transcript()
  private let mock = MockLoader()
  private let request: HTTPRequest

  private var api: any HTTPLoader { mock }

  init() throws {
    request = try HTTPRequest("http://example.com/feed")
  }

  @Test("A cancelled load ends, and the transport receives the reason")
  func asking() {
    let held = mock.hold()

    // guide asking
    let feed = api.load(request)
    feed.cancel(reason: "the page was closed")  // Asks the part of the chain that holds the request.
    feed.cancel(.doNotForwardIfOthersWaiting)  // Only if no other consumer has interest in it.
    feed.cancel(.forceImmediately)  // Completes at once, before the transport confirms.
    // end

    #expect(feed.outcomeIfCompleted?.ending == .cancelled)
    #expect(mock.cancelRequests.map(\.reason.message) == ["the page was closed"])
    withExtendedLifetime(held) {}
  }

  // guide gate
  struct Gate: HTTPLayer {
    let opened: Future<Void>

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      opened.shielded().flatMap { next.load(request) }
    }
  }
  // end

  @Test("A gate drops a cancelled request and sends the others")
  func gate() {
    let open = Promise<Void>()
    let api = Gate(opened: open.future) --> mock
    mock.on("/feed", .status(.ok))
    let feeds = [api.load(request), api.load(request)]

    feeds[0].cancel()
    #expect(feeds.map { $0.outcomeIfCompleted?.ending } == [.cancelled, nil])
    open.succeed()

    #expect(feeds[1].outcomeIfCompleted?.ending == .succeeded)
    #expect(mock.requests.count == 1)
  }

  private final class Waiting: Sendable {
    private let ids = Locked<Set<Int>>([])

    var count: Int { ids.withLock { $0.count } }

    func insert(_ id: Int) { ids.withLock { _ = $0.insert(id) } }

    func remove(_ id: Int) { ids.withLock { _ = $0.remove(id) } }
  }

  @Test("A layer with a list removes a cancelled request that it has not passed on", arguments: [true, false])
  func list(isPassedOn: Bool) {
    let next: any HTTPLoader = mock
    let held = mock.hold()
    let (waiting, id) = (Waiting(), 7)
    waiting.insert(id)

    // guide list
    let promise = Promise<HTTPResponse>()
    promise.onRequestCancel { [waiting] _ in
      waiting.remove(id)
      return .complete(.cancelled)
    }
    // end

    if isPassedOn {
      // guide seal
      promise.complete(.completeUsing(next.load(request)))
      // end
    }
    promise.future.cancel()

    #expect(waiting.count == (isPassedOn ? 1 : 0))
    #expect(promise.future.isCompleted != isPassedOn)
    #expect((held.cancelRequest != nil) == isPassedOn)
    held.complete(.cancelled)
  }

  @Test("A test cancels a load that its mock holds")
  func inATest() {
    // guide test
    let held = mock.hold("/feed")
    let feed = api.load(request)

    feed.cancel(reason: "the page was closed")
    print(held.cancelRequest?.reason.message ?? "not asked")  // the page was closed
    print(feed.isCompleted)  // false; the transport has not confirmed

    held.complete(.cancelled)
    print(feed.isCompleted)  // true
    // end

    #expect(print.lines == ["the page was closed", "false", "true"])
  }
}
