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

/// A client of a JSON API: each call is a load through the chain, and returns a future of what was decoded.
///
/// Take it as a template. What a client of your own changes is the calls, the environment, and the numbers of the chain.
struct APIClient: Sendable {
  private let loader: any HTTPLoader

  /// - Parameters:
  ///   - server: where the API is.
  ///   - logIn: where tokens come from, and how the page of a log-in is shown.
  ///   - store: keeps the credential while the program does not run; for an app that is the keychain.
  ///   - log: gets the lines of the log. They have no secrets in them.
  ///   - clock: what measures back-offs and timeouts. A test gives one that it moves by hand.
  ///   - jitter: which part of a back-off is waited for.
  init(
    _ server: ServerEnvironment, logIn: OAuth2Configuration, store: any CredentialStore,
    log: @escaping @Sendable (String) -> Void = { print($0) }, clock: any FutureClock = .system,
    jitter: RandomSource = .system
  ) {
    let oauth = OAuth2(logIn, store: store, tokens: URLSessionLoader(clock: clock), clock: clock)
    loader =
      (ResetGuard() --> Autocancel(clock: clock) --> Log(log, clock: clock) --> ApplyEnvironment(server) --> Coalesce()
        --> Retry(clock: clock, random: jitter) --> oauth --> Throttle(2, clock: clock)
        --> Timeout(attempt: .seconds(10), clock: clock) --> Redirect() --> URLSessionLoader(clock: clock))
  }

  /// Ends what is under way, and forgets the credential. The next call logs in again.
  func logOut() -> Future<Void> { loader.reset() }
}

// MARK: - The calls

extension APIClient {
  /// The user who is logged in. The server redirects to it.
  func me() -> Future<User> { loader.get("me", as: User.self) }

  /// - Parameter priority: how soon it goes on if it has to wait for its turn.
  func user(_ id: Int, priority: RequestPriority = .normal) -> Future<User> {
    loader.get("users/\(id)", as: User.self) { request in request[option: RequestPriority.self] = priority }
  }

  func notes(of user: Int, containing text: String) -> Future<[Note]> {
    loader.get("users/\(user)/notes", query: [("containing", text)], as: [Note].self)
  }

  /// It is sent once: `POST` is not repeated without a field `Idempotency-Key`.
  func add(_ note: Note, to user: Int) -> Future<Note> {
    loader.post("users/\(user)/notes", json: note, as: Note.self)
  }

  func report(of month: String) -> Future<Report> { loader.get("reports/\(month)", as: Report.self) }

  /// The bytes of a picture. The server redirects to another, which must not get the token.
  func picture(of user: Int) -> Future<Data> {
    loader.get("users/\(user)/picture").map { try $0.body }
  }
}
