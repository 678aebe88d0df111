import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import Synchronization
import Testing

// More code of the article *Cookbook*, word for word. `HTTPGuideTests` compares the two.

// guide retryTest
extension FeedTests {
  @Test("A load is repeated after a 503 response")
  func retries() async throws {
    let clock = ManualClock()
    let retry = Retry(clock: clock, random: .constant(1))
    let api = FeedAPI(server: server, retry: retry, transport: mock)
    mock.on("/posts/1", .status(.serviceUnavailable), .json(#"{"id": 1, "title": "Notes"}"#))
    let post = api.post(1)
    #expect(mock.requests.count == 1 && !post.isCompleted)

    clock.advance(by: .seconds(60))

    #expect(try await post.value?.title == "Notes")
  }
}
// end

// guide activityTest
extension FeedTests {
  @Test("A load says that it waits for its next attempt, and the receipt of its cancellation says it too")
  func activity() async throws {
    let retry = Retry(clock: ManualClock())
    let api = FeedAPI(server: server, retry: retry, transport: mock)
    mock.on("/posts/1", .status(.serviceUnavailable))
    let post = api.post(1)

    #expect(FeedAPI.activity(of: post) == "waiting before the next attempt")
    #expect(post.cancel().activity == "waiting before the next attempt")
  }
}
// end

// guide keysTest
extension FeedTests {
  @Test("A POST is repeated with the same key")
  func repeats() async throws {
    let clock = ManualClock()
    let retry = Retry(clock: clock, random: .constant(1))
    let api = FeedAPI.repeating(server: server, retry: retry, transport: mock)
    mock.on("/posts", .status(.serviceUnavailable), .json(#"{"id": 2, "title": "Notes"}"#, status: .created))
    let post = api.publish(Draft(title: "Notes"))

    clock.advance(by: .seconds(60))

    #expect(try await post.value.id == 2)
    let keys = mock.requests.map { $0.headers["Idempotency-Key"] }
    #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
  }
}
// end

// guide message
/// Returns a text for the user. The description of an error is a text for developers.
func message(for error: any Error) -> String {
  if error is FutureCancelled { return "The load was cancelled." }
  guard let error = error as? HTTPError else { return "An unknown error occurred." }
  if let detail = error.problem?.detail { return detail }
  switch (error.code, error.response?.status) {
  case (.credentialsUnavailable, .some): return "Your session has ended. Log in again."
  case (_, .unauthorized?): return "Log in with a valid name and password."
  case (_, .notFound?): return "This post no longer exists."
  case (.unknownHost, _), (.cannotConnect, _), (.connectionLost, _), (.timedOut, _), (.credentialsUnavailable, nil):
    return "The server cannot be reached. Check your connection."
  case (.unwritableBody, _): return "The file cannot be saved. Check the free space."
  default: return "The server has a problem. Try again later."
  }
}
// end

// guide messageTest
extension FeedTests {
  @Test("A refused refresh and a lost connection have different messages")
  func messages() async throws {
    let account = Account(
      server: server, transport: mock, deviceSecret: "device", savedToken: try BearerToken("one")
    ) { _ in }
    mock.on("/posts/*", .status(.unauthorized).forever())
    mock.on("/session/refresh", .status(.forbidden), .fail(HTTPError(.cannotConnect, "The server is down.")))

    let refused = try await #require(throws: HTTPError.self) { try await account.api.post(1).value }
    let offline = try await #require(throws: HTTPError.self) { try await account.api.post(2).value }

    #expect(message(for: refused) == "Your session has ended. Log in again.")
    #expect(message(for: offline) == "The server cannot be reached. Check your connection.")
  }

  @Test("An explanation by the server is shown")
  func problem() async throws {
    let headers = try HTTPHeaders(["Content-Type": "application/problem+json"])
    let body = Data(#"{"title": "Too long.", "detail": "A title has at most 80 characters."}"#.utf8)
    mock.on("/posts", .respond(status: HTTPStatus(422), headers: headers, body: body))

    let error = try await #require(throws: HTTPError.self) { try await api.publish(Draft(title: "Notes")).value }

    #expect(message(for: error) == "A title has at most 80 characters.")
  }
}
// end

// guide accountTest
extension FeedTests {
  @Test("The user logs in, and a rejected token is refreshed once")
  func account() async throws {
    let saved = Mutex<[BearerToken?]>([])
    let account = Account(server: server, transport: mock, deviceSecret: "device") { token in
      saved.withLock { $0.append(token) }
    }
    mock.on("/session", .json(#"{"token": "one"}"#))
    mock.on("/session/refresh", .json(#"{"token": "two"}"#))
    mock.on(.header("Authorization", "Bearer one"), .status(.unauthorized))
    mock.on("/posts/1" && .header("Authorization", "Bearer two"), .json(#"{"id": 1, "title": "Notes"}"#))

    try await account.logIn(name: "ada", password: "secret").value

    #expect(try await account.api.post(1).value?.title == "Notes")
    #expect(try saved.withLock { $0 } == [BearerToken("one"), BearerToken("two")])
    try mock.verify()
  }
}
// end

// guide logoutTest
extension FeedTests {
  @Test("A logout cancels the loads in flight and deletes the token")
  func logOut() async throws {
    let saved = Mutex(BearerToken?.some(try BearerToken("one")))
    let account = Account(
      server: server, transport: mock, deviceSecret: "device", savedToken: try BearerToken("one")
    ) { token in saved.withLock { $0 = token } }
    let held = mock.hold("/posts/1", whenCancelled: .complete)
    let post = account.api.post(1)

    try await account.logOut().value

    #expect(held.cancelRequest != nil && post.outcomeIfCompleted?.ending == .cancelled)
    #expect(saved.withLock { $0 } == nil)
  }

  @Test("After a logout, a 401 does not log the user in again")
  func loggedOut() async throws {
    let account = Account(
      server: server, transport: mock, deviceSecret: "device", savedToken: try BearerToken("one")
    ) { _ in }
    mock.onOthers(.status(.unauthorized))
    try await account.logOut().value

    let error = await #expect(throws: HTTPError.self) { try await account.api.post(1).value }

    #expect(error?.response?.status == .unauthorized && mock.requests.map(\.path) == ["/posts/1"])
  }
}
// end
