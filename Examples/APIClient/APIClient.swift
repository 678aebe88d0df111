import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeOAuth2

struct User: Decodable, Sendable {
  let id: Int
  let name: String
}

struct Note: Codable, Sendable {
  let text: String
}

struct Report: Decodable, Sendable {
  let month: String
  let pages: Int
}

/// A client of a JSON API. Each call is a load through the chain, and returns a future of the decoded value.
///
/// Use it as a template: replace the calls, the environment and the numbers of the chain.
struct APIClient: Sendable {
  private let loader: any HTTPLoader

  /// - Parameters:
  ///   - server: The environment of the API.
  ///   - logIn: The token endpoint, and the closure that presents the login page.
  ///   - store: Keeps the credential between runs of the program. In an app it is the keychain.
  ///   - log: Receives the lines of the log, which contain no secrets.
  ///   - clock: Measures delays and timeouts. A test passes a manual clock.
  ///   - jitter: The random source of the delays.
  init(
    _ server: ServerEnvironment, logIn: OAuth2Configuration, store: any CredentialStore,
    log: @escaping @Sendable (String) -> Void = { print($0) }, clock: any FutureClock = .system,
    jitter: RandomSource = .system
  ) {
    let oauth = OAuth2(logIn, store: store, tokens: SystemLoader(clock: clock), clock: clock)
    loader =
      (ResetGuard() --> Autocancel(clock: clock) --> Log(log, clock: clock) --> ApplyEnvironment(server) --> Coalesce()
        --> Retry(clock: clock, random: jitter) --> oauth --> Throttle(2, clock: clock)
        --> Timeout(attempt: .seconds(10), clock: clock) --> Redirect() --> SystemLoader(clock: clock))
  }

  /// Cancels the loads in flight and deletes the credential. The next call logs in again.
  func logOut() -> Future<Void> { loader.reset() }
}

// MARK: - The calls

extension APIClient {
  /// Returns the current user. The server answers with a redirect.
  func me() -> Future<User> { loader.get("me", as: User.self) }

  /// - Parameter priority: The priority of the request in the queue of `Throttle`.
  func user(_ id: Int, priority: RequestPriority = .normal) -> Future<User> {
    loader.get("users/\(id)", as: User.self) { request in request.priority = priority }
  }

  func notes(of user: Int, containing text: String) -> Future<[Note]> {
    loader.get("users/\(user)/notes", query: ["containing": text], as: [Note].self)
  }

  /// Adds a note. The request is sent once: `Retry` repeats no `POST` without the field `Idempotency-Key`.
  func add(_ note: Note, to user: Int) -> Future<Note> {
    loader.post("users/\(user)/notes", json: note, as: Note.self)
  }

  func report(of month: String) -> Future<Report> { loader.get("reports/\(month)", as: Report.self) }

  /// Returns the bytes of a picture. The server redirects to another origin, which must not receive the token.
  func picture(of user: Int) -> Future<Data> {
    loader.get("users/\(user)/picture").map { try $0.body }
  }
}
