import Dispatch
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import Synchronization
import Testing

// The tests of the article *Cookbook*, word for word. `HTTPGuideTests` compares the two.

// guide serverLimitTest
extension FeedTests {
  @Test("A load waits until the server accepts more")
  func serverLimit() async throws {
    let clock = ManualClock()
    let api = FeedAPI(limitedServer: server, clock: clock, transport: mock)
    let limit = try HTTPHeaders(["RateLimit": #""minute";r=0;t=30"#])
    mock.on("/posts/1", .respond(headers: limit, body: Data(#"{"id": 1, "title": "Notes"}"#.utf8)))
    mock.on("/posts/2", .json(#"{"id": 2, "title": "News"}"#))
    _ = try await api.post(1).value

    let news = api.post(2)
    #expect(mock.requests.count == 1 && FeedAPI.activity(of: news) == "waiting for a slot")
    clock.advance(by: .seconds(30))

    #expect(try await news.value?.title == "News")
  }
}
// end

// guide tests
@Suite("Cookbook") struct FeedTests {
  let mock = MockLoader()
  let server: ServerEnvironment
  let api: FeedAPI

  init() throws {
    server = try ServerEnvironment(host: "example.com")
    api = FeedAPI(server: server, transport: mock)
  }
}
// end

// guide getTest
extension FeedTests {
  @Test("The posts of an author are requested and decoded")
  func get() async throws {
    mock.on("/authors/ada/posts" && .query("sort", "date"), .json(#"[{"id": 1, "title": "Notes"}]"#))

    #expect(try await api.posts(by: "ada").value == [Post(id: 1, title: "Notes")])
  }

  @Test("A missing post is nil, and another status is an error")
  func missing() async throws {
    mock.on("/posts/1", .status(.notFound))
    mock.on("/posts/2", .status(.forbidden))

    #expect(try await api.post(1).value == nil)
    let error = await #expect(throws: HTTPError.self) { try await api.post(2).value }
    #expect(error?.code == .unacceptableStatus && error?.response?.status == .forbidden)
  }
}
// end

// guide postTest
extension FeedTests {
  @Test("A draft is sent as JSON")
  func post() async throws {
    let draft = RequestMatcher.body(json: #"{"title": "Notes"}"#)
    mock.on(.method(.post) && "/posts" && draft, .json(#"{"id": 2, "title": "Notes"}"#, status: .created))

    #expect(try await api.publish(Draft(title: "Notes")).value.id == 2)
  }
}
// end

// guide curlTest
extension FeedTests {
  @Test("A command of the documentation of a server is sent")
  func curl() async throws {
    mock.on(.method(.put) && .path("/posts/1/title") && .body("Sea"), .status(.noContent))
    let command = "curl -X PUT https://example.com/posts/1/title -H 'Content-Type: text/plain' --data-raw 'Sea'"

    #expect(try await api.send(command).value.status == .noContent)
    #expect(mock.requests[0].headers["Content-Type"] == "text/plain")
  }
}
// end

// guide codersTest
extension FeedTests {
  @Test("The coders of the chain read and write each edition")
  func coders() async throws {
    let json = #"{"published_at":"1970-01-01T00:00:00Z"}"#
    let (edition, body) = (Edition(publishedAt: Date(timeIntervalSince1970: 0)), RequestMatcher.body(json: json))
    mock.on(.method(.put) && "/editions/1" && body, .json(json))

    let editions = JSONCoders.feed --> ApplyEnvironment(server) --> mock
    #expect(try await editions.put("editions/1", json: edition, as: Edition.self).value == edition)
  }
}
// end

// guide uploadTest
extension FeedTests {
  @Test("An upload reports the fraction that was sent")
  func upload() async throws {
    let held = mock.hold("/photos")
    let bar = ProgressBar()
    let photo = URL.temporaryDirectory.appending(path: "\(UUID()).jpeg")
    try Data("photo".utf8).write(to: photo)
    let shared = api.share(photo, title: "Sea", showing: bar)

    held.report(HTTPProgress(sent: .init(completed: 3, total: 4)))
    held.answer(.json(#"{"id": 7}"#))

    #expect(try await shared.value.id == 7)
    #expect(try await Future(on: .main) { bar.fraction }.value == 0.75)
    try FileManager.default.removeItem(at: photo)
  }
}
// end

// guide largeBodyTest
extension FeedTests {
  @Test("A log is sent in gzip, after the consent of the server")
  func log() async throws {
    mock.on("/logs/today", .status(.created))
    let log = URL.temporaryDirectory.appending(path: "\(UUID()).log")
    try Data(repeating: 65, count: 4_096).write(to: log)

    _ = try await api.send(log: log).value

    let request = try #require(mock.requests.last)
    #expect(request.headers["Content-Encoding"] == "gzip" && request.expectsContinue)
    try FileManager.default.removeItem(at: log)
  }
}
// end

// guide rowsTest
extension FeedTests {
  @Test("The number of rows follows the rows")
  func rows() async throws {
    mock.on("/imports", .status(.created))

    _ = try await api.send(rows: AsyncStream { $0.finish() }).value

    let trailers = try #require(mock.requests.last?.trailers).begin()
    trailers.receive(Data("Ada,1\nGrace".utf8))
    trailers.receive(Data(",2\n".utf8))
    #expect(try trailers.finish()["X-Rows"] == "2")
  }
}
// end

// guide uploadInRunsTest
extension FeedTests {
  @Test("A cancelled upload continues with the rest of the film")
  func uploadInTwoRuns() async throws {
    let folder = URL.temporaryDirectory.appending(path: "\(UUID())")
    let film = folder.appending(path: "film.mp4")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("a film".utf8).write(to: film)
    let directory = folder.appending(path: "uploads")

    mock.on("/films", .respond(status: .created, headers: try HTTPHeaders(["Location": "/uploads/1"])))
    let held = mock.hold("/uploads/1")
    let first = FilmUploads(server: server, directory: directory, transport: mock).upload(film)
    first.cancel()
    held.complete(.cancelled)
    #expect(first.isCompleted)

    mock.on("/uploads/1", .respond(headers: try HTTPHeaders(["Upload-Offset": "2"])))
    mock.on("/uploads/1", .respond(status: .noContent, headers: try HTTPHeaders(["Upload-Offset": "6"])))
    let second = FilmUploads(server: server, directory: directory, transport: mock).upload(film)

    #expect(try await second.value?.path == "/uploads/1")
    #expect(mock.requests.map(\.method) == [.post, .patch, .head, .patch])
    #expect(mock.requests.last?.headers["Upload-Offset"] == "2")
    try FileManager.default.removeItem(at: folder)
  }
}
// end

// guide downloadTest
extension FeedTests {
  @Test("A download reports the fraction that was received")
  func download() async throws {
    let held = mock.hold("/films/7")
    let bar = ProgressBar()
    let file = URL.temporaryDirectory.appending(path: "\(UUID()).mp4")
    let film = api.downloadFilm(7, to: file, showing: bar)

    held.report(HTTPProgress(received: .init(completed: 1, total: 4)))
    held.answer(body: "film")

    #expect(try await film.value.bodySize == 4)
    #expect(try await Future(on: .main) { bar.fraction }.value == 0.25)
    #expect(try Data(contentsOf: file) == Data("film".utf8))
    try FileManager.default.removeItem(at: file)
  }
}
// end

// guide pagesTest
extension FeedTests {
  @Test("All pages are loaded in order")
  func pages() async throws {
    mock.on(.query("cursor", "first"), .json(#"{"posts": [{"id": 1, "title": "Notes"}], "next": "b"}"#))
    mock.on(.query("cursor", "b"), .json(#"{"posts": [{"id": 2, "title": "Engines"}]}"#))

    #expect(try await api.allPosts().value.map { $0.id } == [1, 2])
  }

  @Test("If the load is cancelled, no further page is requested")
  func cancelledPages() {
    mock.on(.query("cursor", "first"), .json(#"{"posts": [], "next": "b"}"#))
    let second = mock.hold(.query("cursor", "b"), whenCancelled: .complete)
    let posts = api.allPosts()

    posts.cancel(reason: "The reader closed the list.")

    #expect(second.cancelRequest != nil && posts.outcomeIfCompleted?.ending == .cancelled)
    #expect(mock.requests.count == 2)
  }
}
// end

// guide pageSequenceTest
extension FeedTests {
  @Test("No page is requested after the page with the post")
  func search() async throws {
    mock.on(.query("cursor", "first"), .json(#"{"posts": [{"id": 1, "title": "Notes"}], "next": "b"}"#))
    mock.on(.query("cursor", "b"), .json(#"{"posts": [{"id": 2, "title": "Engines"}], "next": "c"}"#))

    #expect(try await api.post(titled: "Engines")?.id == 2)
    #expect(mock.requests.count == 2)
  }

  @Test("The links of the pages are followed to the last page")
  func links() async throws {
    let next = try HTTPHeaders(["Link": #"</archive?page=2>; rel="next""#])
    mock.on("/archive" && !.query("page"), .respond(headers: next, body: Data(#"[{"id": 1, "title": "Notes"}]"#.utf8)))
    mock.on("/archive" && .query("page", "2"), .json(#"[{"id": 2, "title": "Engines"}]"#))

    #expect(try await api.archive().reduce(into: []) { $0 += $1.map { $0.id } } == [1, 2])
  }
}
// end

// guide bagTest
extension FeedTests {
  @Test("A screen that is deallocated cancels its load")
  func deallocated() async {
    let held = mock.hold(whenCancelled: .complete)
    do {
      let screen = FeedScreen()
      await screen.show("ada", from: api)
      withExtendedLifetime(screen) { #expect(held.cancelRequest == nil) }
    }

    #expect(held.cancelRequest != nil)
  }

  @Test("A closed screen cancels its load, and can load again")
  @MainActor func closed() {
    let held = mock.hold(whenCancelled: .complete)
    let screen = FeedScreen()
    screen.show("ada", from: api)

    screen.close()
    screen.show("ben", from: api)

    #expect(held.cancelRequest != nil && mock.requests.last?.path == "/authors/ben/posts")
  }
}
// end

// guide modelTest
extension FeedTests {
  @Test("A model shows the posts")
  @MainActor func model() async {
    mock.answer(body: #"[{"id": 1, "title": "Notes"}]"#)
    let model = FeedModel(api: api)

    await model.load("ada")

    #expect(model.posts == [Post(id: 1, title: "Notes")])
  }

  @Test("If the task of a view is cancelled, the load is cancelled")
  @MainActor func disappeared() async {
    let held = mock.hold(whenCancelled: .complete)
    let model = FeedModel(api: api)
    let task = Task { await model.load("ada") }
    _ = await held.loaded.outcome

    task.cancel()
    await task.value

    #expect(held.cancelRequest != nil)
    #expect(model.posts.isEmpty && model.problem == nil)
  }
}
// end

// guide callbacksTest
final class StoredImages: ImageStore {
  let cancelled = Promise<Int>()
  private let pending = Mutex<[@Sendable (Data?, (any Error)?) -> Void]>([])

  func read(_ name: String, completion: @escaping @Sendable (Data?, (any Error)?) -> Void) -> Int {
    if name == "dot" { completion(Data([1]), nil) } else { pending.withLock { $0.append(completion) } }
    return 7
  }

  func cancel(_ number: Int) {
    cancelled.succeed(number)
  }
}

extension FeedTests {
  @Test("A callback completes the future, and a cancellation request stops the call")
  func callbacks() async throws {
    let store = StoredImages()

    #expect(try await store.image("dot").value == Data([1]))
    store.image("slow").cancel()

    #expect(try await store.cancelled.future.value == 7)
  }
}
// end

// guide workitemTest
extension FeedTests {
  @Test("A work item that has not begun does not run after a cancellation request")
  func workItem() async throws {
    let queue = DispatchQueue(label: "work")
    queue.suspend()
    let (first, second) = (queue.future { 1 }, queue.future { 2 })

    second.cancel()
    queue.resume()

    #expect(try await first.value == 1)
    #expect(await second.outcome.ending == .cancelled)
  }
}
// end
