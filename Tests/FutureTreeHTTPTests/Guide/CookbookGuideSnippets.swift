import Dispatch
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeOAuth2
import Observation

#if canImport(SwiftUI)
  import SwiftUI
#endif

// The recipes of the article *Cookbook*, word for word. `HTTPGuideTests` compares the two.

// guide api
/// The calls of one server.
struct FeedAPI: Sendable {
  let http: any HTTPLoader
}

extension FeedAPI {
  init(
    server: ServerEnvironment, retry: Retry = Retry(), transport: any HTTPLoader = Redirect() --> SystemLoader()
  ) {
    self.init(http: ResetGuard() --> Autocancel() --> ApplyEnvironment(server) --> retry --> transport)
  }
}
// end

// guide get
struct Post: Codable, Hashable, Identifiable, Sendable {
  let id: Int
  let title: String
}

extension FeedAPI {
  func posts(by author: String) -> Future<[Post]> {
    http.get("authors/\(author)/posts", query: ["sort": "date"], as: [Post].self)
  }

  /// Returns `nil` if there is no such post.
  func post(_ id: Int) -> Future<Post?> {
    http.get("posts/\(id)", as: Post?.self).recover { error in
      guard (error as? HTTPError)?.response?.status == .notFound else { throw error }
      return nil
    }
  }
}
// end

// guide post
struct Draft: Codable, Sendable {
  let title: String
}

extension FeedAPI {
  func publish(_ draft: Draft) -> Future<Post> {
    http.post("posts", json: draft, as: Post.self)
  }
}
// end

// guide curl
extension FeedAPI {
  /// Sends the request of a `curl` command, through the layers.
  func send(_ command: String) -> Future<HTTPResponse> {
    http.load { try HTTPRequest(curl: command) }.validated()
  }
}
// end

// guide activity
extension FeedAPI {
  /// Returns what a slow load is doing, such as `waiting for the response`, or `nil` if it has ended.
  static func activity(of load: Future<some Sendable>) -> String? {
    load.tree().entries.lazy.compactMap(\.activity).first
  }
}
// end

// guide serverLimit
extension FeedAPI {
  /// Creates the calls of a server that announces its limits.
  init(
    limitedServer server: ServerEnvironment, clock: any FutureClock = .system,
    transport: any HTTPLoader = Redirect() --> SystemLoader()
  ) {
    let throttle = Throttle(8, followsServerLimits: true, clock: clock)
    self.init(server: server, transport: throttle --> transport)
  }
}
// end

// guide coders
extension JSONCoders {
  /// The format of the server: `published_at`, with dates such as `2026-03-01T12:00:00Z`.
  static var feed: JSONCoders {
    let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    return JSONCoders(decoder: decoder, encoder: encoder)
  }
}

struct Edition: Codable, Hashable, Sendable {
  let publishedAt: Date
}
// end

// guide keys
extension FeedAPI {
  /// An API for a server that recognizes copies of a request.
  static func repeating(
    server: ServerEnvironment, retry: Retry = Retry(), transport: any HTTPLoader = Redirect() --> SystemLoader()
  ) -> FeedAPI {
    let keys = ModifyRequest.sendingIdempotencyKey()
    return FeedAPI(http: ResetGuard() --> Autocancel() --> ApplyEnvironment(server) --> keys --> retry --> transport)
  }
}
// end

// guide progress
@MainActor final class ProgressBar {
  var fraction = 0.0
}
// end

// guide upload
struct Photo: Codable, Sendable {
  let id: Int
}

extension FeedAPI {
  func share(_ file: URL, title: String, showing bar: ProgressBar) -> Future<Photo> {
    http.upload(
      "photos", body: try .multipart([.text("title", title), .file("photo", file, contentType: "image/jpeg")]),
      on: .main, onProgress: { progress in bar.fraction = progress.sent.fraction ?? 0 }, as: Photo.self)
  }
}
// end

// guide largeBody
extension FeedAPI {
  /// Sends a log in gzip, as soon as the server agrees to receive it.
  func send(log: URL) -> Future<HTTPResponse> {
    (CompressBodies() --> http).load {
      var request = try HTTPRequest(.put, to: "logs/today")
      request.body = .file(log, contentType: "text/plain")
      request.expectsContinue = true
      return request
    }
  }
}
// end

// guide rows
extension FeedAPI {
  /// Sends rows while they are made, and their number after them.
  func send(rows: AsyncStream<Data>) -> Future<HTTPResponse> {
    http.load {
      var request = try HTTPRequest(.post, to: "imports")
      request.body = .asyncStream(isReplayable: false, contentType: "text/csv") { rows }
      request.trailers = try RequestTrailers(["X-Rows"], from: 0) { count, bytes in
        count += bytes.count { $0 == UInt8(ascii: "\n") }
      } fields: { count in
        ["X-Rows": "\(count)"]
      }
      return request
    }
  }
}
// end

// guide uploadInRuns
/// Uploads of films, which can take several runs of the program.
struct FilmUploads: Sendable {
  let http: any HTTPLoader

  /// Returns the URL of the upload.
  func upload(_ film: URL) -> Future<HTTPURL?> {
    http.load {
      var request = try HTTPRequest(.post, to: "films")
      request.body = .file(film, contentType: "video/mp4")
      return request
    }.validated().map { $0.request.url }
  }
}

extension FilmUploads {
  init(server: ServerEnvironment, directory: URL, transport: any HTTPLoader = SystemLoader()) {
    let uploads = ResumeUploads(.tus, directory: directory)
    self.init(http: Autocancel() --> ApplyEnvironment(server) --> uploads --> transport)
  }
}
// end

// guide download
extension FeedAPI {
  func downloadFilm(_ id: Int, to file: URL, showing bar: ProgressBar) -> Future<HTTPResponse> {
    http.download("films/\(id)", to: file, on: .main) { progress in
      bar.fraction = progress.received.fraction ?? 0
    }
  }
}
// end

// guide pages
struct Page: Codable, Sendable {
  let posts: [Post]
  let next: String?
}

extension FeedAPI {
  /// Loads pages until a page has no cursor of a next page.
  func allPosts(from cursor: String? = nil, after earlier: [Post] = []) -> Future<[Post]> {
    http.get("posts", query: ["cursor": cursor ?? "first"], as: Page.self).flatMap { page -> Future<[Post]> in
      let posts = earlier + page.posts
      guard let next = page.next else { return .succeeded(posts) }
      return allPosts(from: next, after: posts)
    }
  }
}
// end

// guide pageSequence
extension FeedAPI {
  /// Loads pages until a post has the title.
  func post(titled title: String) async throws -> Post? {
    let pages = http.pages(try HTTPRequest(.get, to: "posts", query: ["cursor": "first"])) { response in
      let page = try JSONDecoder().decode(Page.self, from: response.body)
      return try page.next.map { cursor in try HTTPRequest(.get, to: "posts", query: ["cursor": cursor]) }
    }
    for try await response in pages {
      let page = try JSONDecoder().decode(Page.self, from: response.body)
      if let post = page.posts.first(where: { $0.title == title }) { return post }
    }
    return nil
  }
}
// end

// guide linkedPages
extension FeedAPI {
  /// Returns the posts of each page. A page is loaded while the page before it is used.
  func archive() throws -> some AsyncSequence<[Post], any Error> {
    http.pages(followingLinksFrom: try HTTPRequest(.get, path: "archive"), lookAhead: 1)
      .map { response in try JSONDecoder().decode([Post].self, from: response.body) }
  }
}
// end

// guide bag
@MainActor final class FeedScreen {
  private(set) var posts: [Post] = []
  private(set) var problem: String?
  private let loads = CancelBag()

  func show(_ author: String, from api: FeedAPI) {
    let load = api.posts(by: author)
    load.observe(on: .main) { [weak self] outcome in
      switch outcome {
      case .success(let posts): self?.posts = posts
      case .failure(let error): self?.problem = message(for: error)
      case .cancelled: break
      }
    }
    loads.insert(load)
  }

  func close() {
    loads.cancel(.doNotForwardIfOthersWaiting, reason: "The reader closed the screen.")
  }
}
// end

// guide model
@MainActor @Observable final class FeedModel {
  private(set) var posts: [Post] = []
  private(set) var problem: String?
  private let api: FeedAPI

  init(api: FeedAPI) {
    self.api = api
  }

  func load(_ author: String) async {
    switch await api.posts(by: author).outcome {
    case .success(let posts): self.posts = posts
    case .failure(let error): problem = message(for: error)
    case .cancelled: break  // The view has disappeared, or shows another author.
    }
  }
}
// end

// guide view
#if canImport(SwiftUI)
  struct FeedView: View {
    let author: String
    let model: FeedModel

    var body: some View {
      List(model.posts) { post in
        Text(post.title)
      }
      .overlay {
        if let problem = model.problem { Text(problem) }
      }
      .task(id: author) { await model.load(author) }
    }
  }
#endif
// end

// guide account
struct Session: Codable, Sendable {
  let token: String
}

/// A user account. `save` stores the token, or deletes the stored token if it receives `nil`.
final class Account: Sendable {
  let api: FeedAPI
  private let tokens: RefreshOnUnauthorized
  private let logInAPI: FeedAPI

  init(
    server: ServerEnvironment, retry: Retry = Retry(), transport: any HTTPLoader = Redirect() --> SystemLoader(),
    deviceSecret: String, savedToken: BearerToken? = nil, save: @escaping @Sendable (BearerToken?) -> Void
  ) {
    tokens = RefreshOnUnauthorized(savedToken) { loader in
      (ApplyEnvironment(server) --> loader).post("session/refresh", json: ["device": deviceSecret], as: Session.self)
        .map { session in try BearerToken(session.token) }
    } onChange: { token in
      save(token)
    }
    let (resetGuard, autocancel) = (ResetGuard(), Autocancel())
    logInAPI = FeedAPI(http: resetGuard --> autocancel --> ApplyEnvironment(server) --> transport)
    api = FeedAPI(http: resetGuard --> autocancel --> ApplyEnvironment(server) --> retry --> tokens --> transport)
  }

  /// Logs in over a chain without the token layer. A 401 on that chain means that the password is wrong.
  func logIn(name: String, password: String) -> Future<Void> {
    logInAPI.http.post("session", json: ["name": name, "password": password], as: Session.self)
      .flatMap { [tokens] session in tokens.replaceToken(with: try BearerToken(session.token)) }
  }
}
// end

// guide logout
extension Account {
  func logOut() -> Future<Void> {
    api.http.reset()
  }
}
// end

// guide callbacks
/// An API with a completion handler, as many libraries have it. `read` returns a number for `cancel`.
protocol ImageStore: Sendable {
  func read(_ name: String, completion: @escaping @Sendable (Data?, (any Error)?) -> Void) -> Int
  func cancel(_ number: Int)
}

extension ImageStore {
  func image(_ name: String) -> Future<Data> {
    .wrappingOptionals { completion in
      read(name, completion: completion)
    } cancel: { number in
      cancel(number)
    }
  }

  /// The other direction: reports the outcome of a future to a completion handler.
  @discardableResult
  func size(of name: String, completion: @escaping @Sendable (Result<Int, any Error>) -> Void) -> CancelToken {
    image(name).map { $0.count }.report(to: completion).cancelToken()
  }
}
// end

// guide workitem
extension DispatchQueue {
  /// Runs a closure on this queue. A cancellation request before it begins cancels the work item.
  func future<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) -> Future<Value> {
    .wrapping { completion in
      let item = DispatchWorkItem { completion(Result { try work() }) }
      async(execute: item)
      return item
    } cancel: { item in
      item.cancel()
    }
  }
}
// end
