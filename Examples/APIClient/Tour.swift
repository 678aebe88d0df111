// A complete client for a JSON API: `APIClient.swift`, with a chain of all policies in one expression.
//
//   swift run APIClient     ends by itself, within seconds
//
// The example shows:
//   - `OAuth2`: one login by authorization code with PKCE for four loads, and one refresh for three loads with a revoked token.
//   - `Coalesce`, `Throttle`: two callers with the same request share one load. Two requests run at the same time. The load for
//     the visible page is next.
//   - `Retry`, `Timeout`: a server that demands a delay of 30 seconds, a response that is cut, and a response that never arrives.
//   - `Redirect`: to the same server with the token, to another server without it.
//   - `Autocancel`, `ResetGuard`: a logout while loads are in flight, at every point of the chain.
//   - `Log`: the outcome of each load, without secrets.
//
// Expected output: the lines of `expected.txt`, the same in each run. The example advances its own clock, so that 30 seconds
// pass at once. No internet connection is needed: the server, which misbehaves on purpose, runs on loopback.

import ExampleSupport
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeOAuth2

@main struct Tour {
  private let server: Server
  private let client: APIClient
  private let store = MemoryCredentialStore()
  private let time = Time()
  private let journal = Journal()

  static func main() async throws {
    let tour = try Tour()
    try await tour.logIn()
    try await tour.places()
    try await tour.unavailable()
    try await tour.cutAndStalled()
    try await tour.revoked()
    try await tour.redirected()
    try await tour.cancelled()
    try await tour.logOut()
  }

  private init() throws {
    server = try Server()
    let browser = Browser(loader: SystemLoader())
    let logIn = OAuth2Configuration(
      client: .public(id: "com.example.notes"), tokenEndpoint: try HTTPURL(server.url("/token")), scope: ["notes"],
      grant: .authorizationCode(
        at: try HTTPURL(server.url("/authorize")), redirectURI: Server.redirectURI, present: browser.open))
    client = APIClient(
      try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: server.port), logIn: logIn, store: store,
      log: journal.write, clock: time, jitter: .constant(1))
  }
}

// MARK: - Login and slots

extension Tour {
  private func logIn() async throws {
    title("Four loads of three users, before the login")
    server.hold("/authorize")
    let loads = users(1, 2, 3, 1)
    try await server.waitForRequests(to: "/authorize")
    say("the login page is open; requests to the API so far: \(server.requestCount(to: "/users/1"))")
    time.pass(.seconds(8))
    server.answer("/authorize")
    await report(loads) { $0.name }
    say("login: \(server.logIns)")
    say(
      "requests: \(server.requestCount(to: "/users/1", "/users/2", "/users/3")), because two loads shared one request")
    journal.show()
  }

  private func places() async throws {
    title("Four loads and two slots: the load with the high priority is next")
    server.hold("/users/4", "/users/5", "/users/6", "/users/7")
    let loads = users(4, 5, 6) + [("user 7, high", client.user(7, priority: .high))]
    try await server.waitForRequests(to: "/users/4", "/users/5")
    say("in flight: user 4 and user 5")
    time.pass(.milliseconds(30))
    server.answer("/users/4")
    try await server.waitForRequests(to: "/users/7")
    _ = await loads[0].future.outcome
    say("user 4 is complete; next is user 7")
    time.pass(.milliseconds(20))
    server.answer("/users/5")
    try await server.waitForRequests(to: "/users/6")
    say("user 5 is complete; next is user 6")
    server.answer("/users/6", "/users/7")
    await report(loads) { $0.name }
    journal.show()
  }

  private func users(_ ids: Int...) -> [(name: String, future: Future<User>)] {
    ids.map { ("user \($0)", client.user($0)) }
  }
}

// MARK: - Transient failures

extension Tour {
  private func unavailable() async throws {
    title("A list that needs two attempts: the server asks for a retry after 30 seconds")
    let backOff = time.timer(of: .seconds(30))
    let notes = client.notes(of: 1, containing: "salary")
    _ = try await backOff.value
    say("the response is 503; the next attempt begins in 30 seconds, and occupies no slot until then")
    time.pass(.seconds(30))
    await report([("notes", notes)]) { $0.map(\.text).joined(separator: ", ") }
    say("requests: \(server.requestCount(to: "/users/1/notes"))")
    await report([("added", client.add(Note(text: "three"), to: 1))]) { $0.text }
    journal.show()
  }

  private func cutAndStalled() async throws {
    title("A connection that closes during a response, and a server that never responds")
    var backOff = time.timer(of: .milliseconds(250))
    let may = client.report(of: "may")
    _ = try await backOff.value
    say("may: closed after 10 of 28 bytes; the incomplete response is not used")
    time.pass(.milliseconds(250))
    await report([("may", may)]) { "\($0.pages) pages, with request \(server.requestCount(to: "/reports/may"))" }

    backOff = time.timer(of: .milliseconds(250))
    let june = client.report(of: "june")
    try await server.waitForRequests(to: "/reports/june")
    time.pass(.seconds(10))
    try await server.waitForClose(of: "/reports/june")
    say("june: no response within 10 s; the client closed the connection")
    _ = try await backOff.value
    time.pass(.milliseconds(250))
    await report([("june", june)]) { "\($0.pages) pages, with request \(server.requestCount(to: "/reports/june"))" }
    journal.show()
  }

  private func revoked() async throws {
    title("The token was revoked: one refresh for three loads")
    server.hold("/token", "/users/1", "/users/2", "/users/3")
    server.revokeToken()
    let sent = server.requestCount(withToken: 1)
    let loads = users(1, 2, 3)
    server.answer("/users/1", "/users/2", "/users/3")
    try await server.waitForRequests(to: "/users/1", "/users/2", "/users/3", count: 2)
    try await server.waitForRequests(to: "/token", count: 2)
    say("requests with the revoked token: \(server.requestCount(withToken: 1) - sent); all wait for one refresh")
    server.answer("/token")
    await report(loads) { $0.name }
    say("repeated with the new token: \(server.requestCount(withToken: 2)); token requests so far: \(server.logIns)")
    journal.show()
  }

  private func redirected() async throws {
    title("Redirects: to the same server with the token, to another server without it")
    await report([("me", client.me())]) { $0.name }
    await report([("picture", client.picture(of: 1))]) { "\($0.count) bytes" }
    say("the other server received the token: \(server.pictureHadToken ? "yes" : "no")")
    journal.show()
  }
}

// MARK: - Cancellation and logout

extension Tour {
  private func cancelled() async throws {
    title("Two of four loads are cancelled, and the others continue")
    server.hold("/users/8", "/users/9", "/users/10")
    let loads = users(8, 9, 9, 10)
    try await server.waitForRequests(to: "/users/8", "/users/9")
    say("in flight: user 8, and user 9 for two callers; user 10 waits for a slot")
    time.pass(.milliseconds(400))
    say("user 8: \(loads[0].future.cancel(reason: "the reader scrolled past it"))")
    say("user 9: \(loads[2].future.cancel(reason: "it is on the screen twice"))")
    try await server.waitForClose(of: "/users/8")
    try await server.waitForRequests(to: "/users/10")
    say("the client closed the connection of user 8; user 10 took its slot")
    server.answer("/users/9", "/users/10")
    await report(loads) { $0.name }
    journal.show()
  }

  private func logOut() async throws {
    title("A logout while loads are in flight")
    let backOffs = [time.timer(of: .seconds(5)), time.timer(of: .seconds(90))]
    let reports = ["july", "august"].map { ($0, client.report(of: $0)) }
    for backOff in backOffs { _ = try await backOff.value }
    say("july and august wait for their next attempts, and block no other load:")
    await report(users(2)) { $0.name }
    server.hold("/users/11", "/users/12")
    let loads = users(11, 12)
    try await server.waitForRequests(to: "/users/11", "/users/12")
    time.pass(.seconds(5))
    say("in flight: user 11 and user 12; july waits for a slot, and august for its next attempt")
    // A queued request is cancelled at once. This load therefore begins while the loads in flight are still completing.
    let stubborn = reports[0].1.onComplete { _ in .completeUsing(client.user(3)) }

    _ = try await client.logOut().value
    await report(loads) { $0.name }
    await report(reports) { "\($0.pages) pages" }
    await report([("user 3, requested after july had ended", stubborn)]) { $0.name }
    try await server.waitForClose(of: "/users/11", "/users/12")
    say("the client closed the connections of user 11 and user 12")
    say("credential: \(store.credential == nil ? "none" : "stored")")
    journal.show()

    title("The next load logs in again")
    await report(users(1)) { $0.name }
    say("login: \(server.logIns)")
    journal.show()
    say(
      "log lines that contain a token, a code or the search text: \(journal.count(of: Server.secrets + ["salary"]))"
    )
  }
}
