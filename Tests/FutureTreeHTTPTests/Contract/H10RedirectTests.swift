import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H10: credentials never cross an origin, in redirects", .tags(.h10), .onSockets, .timeLimit(.minutes(20)))
struct H10RedirectTests {
  static let statuses = [301, 302, 303, 307, 308]

  /// The difference, the `Location`, and whether that is the origin of `http://a.example/`.
  static let targets: [(name: String, location: String, isSameOrigin: Bool)] = [
    ("host", "http://b.example/x", false), ("port", "http://a.example:8080/x", false),
    ("scheme", "https://a.example/x", false), ("scheme and port", "https://a.example:80/x", false),
    ("subdomain", "http://www.a.example/x", false), ("parent domain", "http://example/x", false),
    ("suffix", "http://a.example.b.example/x", false), ("trailing dot", "http://a.example./x", false),
    ("network path", "//b.example/x", false), ("case", "HTTP://A.EXAMPLE/x", true),
    ("default port", "http://a.example:80/x", true), ("path", "/x", true), ("query", "?x", true),
  ]

  private let mock = MockLoader()

  private func request() throws -> HTTPRequest {
    var request = try HTTPRequest.sending(
      .post, "http://a.example/",
      headers: [
        ("Authorization", "secret"), ("authorization", "secret"), ("Proxy-Authorization", "secret"),
        ("Cookie", "secret"), ("cOOKIE", "secret"), ("X-Api-Key", "secret"), ("X-SESSION", "secret"),
        ("Origin", "http://a.example"), ("Referer", "http://a.example/secret"), ("Accept", "text/plain"),
      ], body: .data(Data("body".utf8)))
    request.sensitiveHeaders.insert("x-session")
    return request
  }

  @Test(
    "Credentials follow a redirect only within their origin", arguments: targets, statuses)
  func matrix(target: (name: String, location: String, isSameOrigin: Bool), status: Int) throws {
    mock.redirect(status, to: target.location)
    let request = try request()

    let load = (Redirect() --> mock).load(request)

    expectEqual(load.text, "success")
    expectEqual(mock.requests.count, 2)
    let sent = mock.requests[1]
    expectEqual(sent.headers.map(\.name), (target.isSameOrigin ? request.headers.map(\.name) : ["Accept"]))
    expectEqual(sent.headers.contains { $0.value.contains("secret") }, target.isSameOrigin)
    try expectEqual(sent.body.bytes(), Data((status < 304 ? "" : "body").utf8))
    expectEqual(sent.method, status < 304 ? .get : .post)
  }

  @Test("Credentials stay removed when a later redirect returns to the first origin", arguments: statuses)
  func wayBack(status: Int) throws {
    mock.redirect(status, to: "/b", "http://b.example/", "http://a.example/c", "/d")

    let load = (Redirect() --> mock).load(try request())

    expectEqual(load.text, "success")
    expectEqual(mock.requests.map { $0.headers.contains("Cookie") }, [true, true, false, false, false])
    expectEqual(mock.requests.map { $0.headers.contains("X-Session") }, [true, true, false, false, false])
  }

  @Test("Credential options stay with their origin under every policy")
  func options() throws {
    let policies: [Redirect.Policy] = [
      .follow,
      .init { proposal in
        var next = proposal.response.request
        next.target = proposal.request.target
        return .follow(next)
      },
    ]
    let own = try HTTPURL("http://localhost/")
    for policy in policies {
      let mock = MockLoader()
      mock.redirect(to: "/a", "https://b.example/", "https://localhost/c")
      var request = try HTTPRequest(own.absoluteString)
      request.bearerToken = try BearerToken("secret")
      request.basicCredentials = try BasicCredentials(userName: "secret", password: "secret")
      let bearer = BearerAuth(try BearerToken("fixed"), for: .origins(own))

      let load = (Redirect(policy: policy) --> bearer --> mock).load(request)

      expectEqual(load.text, "success")
      expectEqual(mock.requests.map { $0.headers["Authorization"] }, ["Bearer secret", "Bearer secret", nil, nil])
      expectEqual(mock.requests.map { $0.basicCredentials == nil }, [false, false, true, true])
    }
  }

  @Test("A policy may give the next request its own credentials")
  func ownOptions() throws {
    let token = try BearerToken("its-own")
    mock.redirect(to: "https://b.example/")
    let policy = Redirect.Policy { proposal in
      var next = proposal.request
      next.bearerToken = token
      return .follow(next)
    }
    var request = try HTTPRequest("https://a.example/")
    request.bearerToken = try BearerToken("secret")

    _ = (Redirect(policy: policy) --> mock).load(request)

    expectEqual(mock.requests.map(\.bearerToken), [request.bearerToken, token])
  }

  @Test("A redirected body is sent again, or the load fails", arguments: [307, 308], [true, false])
  func body(status: Int, isReplayable: Bool) throws {
    mock.redirect(status, to: "http://b.example/")
    var request = try request()
    request.body = .stream(length: 4, isReplayable: isReplayable) {
      var rest = Data("body".utf8)
      return HTTPBodyReader { maximum in
        defer { rest = rest.dropFirst(maximum) }
        return rest.prefix(maximum)
      }
    }

    let load = (Redirect() --> mock).load(request)

    expectEqual(load.text, isReplayable ? "success" : "bodyNotReplayable")
    expectEqual(mock.requests.count, isReplayable ? 2 : 1)
    #expect(try mock.requests.dropFirst().allSatisfy { try $0.body.bytes() == Data("body".utf8) })
  }

  @Test("Additions of an environment stay with its server, in either order of the layers")
  func environment() throws {
    let server = try ServerEnvironment(
      host: "a.example", headers: [("X-Key", "secret"), ("Accept", "theirs")], query: [("key", "secret")])
    let chains: [any HTTPLoader] = [
      ApplyEnvironment(server) --> Redirect() --> mock, Redirect() --> ApplyEnvironment(server) --> mock,
    ]

    for api in chains {
      mock.redirect(to: "/b", "https://b.example/")
      var request = try HTTPRequest(.get, path: "/a")
      try request.setHeader("Accept", "own")
      expectEqual(api.load(request).text, "success")
    }

    expectEqual(mock.requests.map { $0.headers["X-Key"] }, ["secret", "secret", nil, "secret", "secret", nil])
    #expect(mock.requests.allSatisfy { $0.headers["Accept"] == "own" })
    expectEqual(mock.requests.map { $0.query == nil }, [false, true, true, false, false, true])
  }

  @Test("On the wire, another port is another origin, and a body arrives whole", arguments: statuses)
  func wire(status: Int) async throws {
    let (server, other) = (try Loopback.server(), try Loopback.server())
    server.on("/a", .respond(status: status, headers: [("Location", "b")], body: "moved"))
    server.on("/b", .respond(status: status, headers: [("Location", other.url("/c"))], body: "moved"))
    other.on("/c", .respond(body: "there"))
    var request = try HTTPRequest(.post, server.url("/a"))
    try request.setHeader("Authorization", "Bearer secret")
    try request.setHeader("Cookie", "id=secret")
    request.body = .data(Data("body".utf8), contentType: "text/plain")

    let response = try await (Redirect() --> SystemLoader(.patient)).load(request).value

    try expectEqual(response.body, Data("there".utf8))
    let (first, second, third) = (
      try #require(server.record.requests(to: "/a").first), try #require(server.record.requests(to: "/b").first),
      try #require(other.record.requests.first)
    )
    expectEqual(second.values(for: "Authorization"), ["Bearer secret"])
    expectEqual(second.values(for: "Cookie"), ["id=secret"])
    expectEqual(third.values(for: "Authorization"), [])
    expectEqual(third.values(for: "Cookie"), [])
    expectEqual(first.text, "body")
    expectEqual(second.text, third.text)
    expectEqual(third.text, status < 304 ? "" : "body")
    expectEqual(third.method, status < 304 ? "GET" : "POST")
    expectEqual(third.values(for: "Content-Type"), status < 304 ? [] : ["text/plain"])
  }
}
