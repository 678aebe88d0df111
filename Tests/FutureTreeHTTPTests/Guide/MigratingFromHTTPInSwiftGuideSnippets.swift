import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

/// The code of the article *Migrating from HTTP in Swift*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Migrating from HTTP in Swift")
struct MigratingFromHTTPInSwiftGuideSnippets {
  private let print = Transcript()
  private let mock = MockLoader()
  private let executor = FutureExecutor.immediate
  private let request: HTTPRequest

  private var api: any HTTPLoader { mock }

  init() throws {
    request = try HTTPRequest("http://example.com/feed")
  }

  @Test("Cancelled loads end, and the completion handler is called once")
  func loading() {
    let stub = mock.on("/feed", .hold(whenCancelled: .complete).times(2))

    // guide loading
    let feed = api.load(request)
    let task = api.load(request, on: executor) { outcome in
      print(outcome.ending)  // cancelled; the handler runs exactly once
    }
    feed.cancel()
    task.cancel()
    // end

    #expect(print.lines == ["cancelled"])
    #expect(stub.held.map { $0.isCompleted } == [true, true])
  }

  @Test("A task that is cancelled before its start sends nothing")
  func task() {
    // guide task
    let task = api.task(for: request)
    task.cancel(reason: "changed my mind")
    print(task.start().outcomeIfCompleted?.ending == .cancelled)  // true
    // end

    #expect(print.lines == ["true"])
    #expect(mock.requests.isEmpty)
  }

  // guide layer
  struct Stamp: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      var request = request
      do { try request.setHeader("X-Client", "Feed") } catch { return .failed(error) }
      return next.load(request)
    }
  }
  // end

  final class Store: Sendable {
    private let paths = Locked<[String]>([])

    var count: Int { paths.withLock { $0.count } }

    func add(_ path: String) { paths.withLock { $0.append(path) } }

    func removeAll() { paths.value = [] }
  }

  // guide stateful
  final class Visits: HTTPLayer {
    let store = Store()

    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      next.load(request).map { [store] response in
        store.add(request.path)
        return response
      }
    }

    func wipe(_ notes: ResetNotes) -> Future<Void> {
      store.removeAll()
      return .succeeded
    }
  }
  // end

  @Test("A layer wipes its store after the inner layers are reset")
  func layers() {
    let visits = Visits()
    let api = visits --> Stamp() --> mock
    mock.answer()
    let held = mock.hold()
    let feeds = [api.load(request), api.load(request)]

    let reset = api.reset()
    #expect(visits.store.count == 1)
    held.complete(.cancelled)

    #expect(visits.store.count == 0)
    #expect(reset.outcomeIfCompleted?.ending == .succeeded)
    #expect(feeds.map { $0.outcomeIfCompleted?.ending } == [.succeeded, .cancelled])
    #expect(mock.requests[0].headers["x-client"] == "Feed")
  }

  @Test("A reset reports its outcome")
  func resetting() {
    // guide resetting
    api.reset(on: executor) { outcome in
      print("signed out: \(outcome.ending)")  // signed out: succeeded
    }
    // end

    #expect(print.lines == ["signed out: succeeded"])
  }
}
