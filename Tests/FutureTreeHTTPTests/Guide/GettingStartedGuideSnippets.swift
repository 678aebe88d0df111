import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import HTTPTestSupport
import TestSupport
import Testing

/// The code of the guide *Getting started with HTTP*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Getting started with HTTP", .onSockets)
struct GettingStartedGuideSnippets {
  private struct User: Decodable { let name: String }
  private struct Note: Codable, Hashable { let text: String }
  private struct Photo: Decodable { let id: Int }
  private struct Session: Decodable { let token: String }

  @MainActor private final class Bar { var fraction = 0.0 }

  private struct Client {
    let api: any HTTPLoader
    let bar: Bar

    // guide load
    func user(_ id: String) -> Future<User> {
      api.get("users/\(id)", as: User.self)
    }
    // end

    // guide send
    func add(_ note: Note) -> Future<Note> {
      api.post("notes", json: note, as: Note.self)
    }
    // end

    // guide download
    func download(_ id: String, to file: URL) -> Future<HTTPResponse> {
      api.download("films/\(id)", to: file, on: .main) { progress in
        bar.fraction = progress.received.fraction ?? 0  // On the main actor.
      }
    }
    // end

    // guide upload
    func share(_ photo: URL, title: String) -> Future<Photo> {
      api.upload(
        "photos", body: try .multipart([.text("title", title), .file("photo", photo, contentType: "image/jpeg")]),
        as: Photo.self)
    }
    // end
  }

  // guide model
  @MainActor final class Profile {
    private(set) var name = ""
    private let bag = CancelBag()

    func load(_ id: String, over api: any HTTPLoader) {
      let user = api.get("users/\(id)", as: User.self).map(on: .main) { [weak self] user in self?.name = user.name }
      user.cancelToken().store(in: bag)
    }
  }
  // end

  private let server: LoopbackServer
  private let environment: ServerEnvironment
  private let mock = MockLoader()

  init() throws {
    server = try Loopback.server()
    environment = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: HTTPURL(server.url("/")).port)
  }

  @Test("The client loads, posts, downloads and uploads through one chain")
  func calls() async throws {
    let (server, folder) = (environment, try Folder())
    // Without its default deadline, which three attempts exceed on a busy machine.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    func SystemLoader() -> FutureTreeHTTP.SystemLoader { FutureTreeHTTP.SystemLoader(.patient) }
    // guide chain
    let api =
      ResetGuard() --> Autocancel() --> ApplyEnvironment(server) --> Retry(attempts: 3) --> Redirect()
      --> SystemLoader()
    // end
    let client = Client(api: api, bar: Bar())
    self.server.on("/users/1%2F2", .json(#"{"name": "Ada"}"#))
    self.server.on("/notes", method: "POST", .json(#"{"text": "sea"}"#, status: 201))
    self.server.on("/films/7", .respond(body: "film"))
    self.server.on("/photos", method: "POST", .json(#"{"id": 7}"#, status: 201))

    #expect(try await client.user("1/2").value.name == "Ada")
    #expect(try await client.add(Note(text: "sea")).value == Note(text: "sea"))
    #expect(try await client.download("7", to: folder.file("film")).value.bodySize == 4 && folder.names == ["film"])
    #expect(try await client.share(folder.write("jpeg", to: "photo"), title: "Sea").value.id == 7)
    let progress = await Future(on: .main) { client.bar.fraction }.outcome
    #expect(progress == .success(1))
  }

  @Test("A deallocated view model cancels its load, and a live one receives its name")
  func model() async throws {
    let held = [mock.hold(), mock.hold()]
    let kept = Profile()
    await kept.load("1", over: anyHost --> mock)
    do {
      let dropped = Profile()
      await dropped.load("2", over: anyHost --> mock)
      #expect(held[1].cancelRequest == nil)
    }

    #expect(held[0].cancelRequest == nil && held[1].cancelRequest != nil)
    held[0].answer(.json(#"{"name": "Ada"}"#))
    _ = await Future(on: .main) {}.outcome
    #expect(await kept.name == "Ada")
  }

  @Test("One request is changed, and one is built as a whole")
  func changed() throws {
    let (api, id, title) = (anyHost --> mock, "a/b", "Sea")
    mock.onOthers(.status(.ok))

    // guide change
    let thumbnail = api.get("photos/\(id)") { request in
      try request.setHeader("Accept", "image/webp")
      request.priority = .low
    }
    let renamed = api.load {
      var request = try HTTPRequest(.put, to: "photos/\(id)/title")
      request.body = .data(Data(title.utf8), contentType: "text/plain")
      return request
    }
    // end

    #expect(thumbnail.status == "200" && renamed.status == "200")
    #expect(mock.requests.map { "\($0.method) \($0.path)" } == ["GET /photos/a%2Fb", "PUT /photos/a%2Fb/title"])
    #expect(mock.requests[0].headers["Accept"] == "image/webp")
  }

  @Test("A 401 response refreshes the token and repeats the request")
  func refresh() throws {
    let (transport, savedToken, secret) = (mock, try BearerToken("old"), "secret")
    let server = try ServerEnvironment(host: "example.com")
    mock.on("/session", .json(#"{"token": "new"}"#))
    mock.on(.header("Authorization", "Bearer old"), .status(.unauthorized))
    mock.onOthers(.status(.ok))

    // guide refresh
    let signedIn =
      ApplyEnvironment(server)
      --> RefreshOnUnauthorized(savedToken) { loader in
        (ApplyEnvironment(server) --> loader).post("session", json: ["refresh": secret], as: Session.self)
          .map { session in try BearerToken(session.token) }
      } --> transport
    // end

    #expect(signedIn.get("users/1").status == "200")
    #expect(mock.requests.last?.headers["Authorization"] == "Bearer new")
  }
}
