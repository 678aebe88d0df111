import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect")
struct RedirectTests {
  private let mock = MockLoader()
  private var api: any HTTPLoader { Redirect() --> mock }

  private static let statuses = [301, 302, 303, 307, 308]

  @Test("A redirect is followed, and the last response lists its redirects", arguments: statuses)
  func follows(status: Int) throws {
    mock.redirect(status, to: "/b", "https://other.example/c?d#e")

    let load = api.load(anyRequest("/a?x=1"))

    let response = try #require(load.outcomeIfCompleted?.value)
    #expect(
      mock.sent == ["GET http://example.com/a?x=1", "GET http://example.com/b", "GET https://other.example/c?d"])
    #expect(response.request.url?.absoluteString == "https://other.example/c?d")
    try expectEqual(response.body, Data("there".utf8))
    #expect(
      response.redirections.map(\.description) == [
        "\(status) for GET http://example.com/a?…", "\(status) for GET http://example.com/b",
      ])
  }

  @Test(
    "Responses with any other status are not followed, with or without a `Location`",
    arguments: [200, 201, 300, 304, 305, 306, 309, 404])
  func others(status: Int) throws {
    mock.on(.any, .redirect(status, to: "/b"))

    let load = api.load(anyRequest())

    expectEqual(load.outcomeIfCompleted?.value?.status.code, status)
    expectEqual(load.outcomeIfCompleted?.value?.redirections, [])
    expectEqual(mock.requests.count, 1)
  }

  @Test("A redirect without a `Location` is the response", arguments: statuses)
  func noLocation(status: Int) {
    mock.on(.any, .redirect(status))

    let load = api.load(anyRequest())

    expectEqual(load.outcomeIfCompleted?.value?.status.code, status)
    expectEqual(mock.requests.count, 1)
  }

  /// RFC 9110, section 15.4: status, method, and the next method; `nil` is the same method with its body.
  @Test(
    "After a 303, and after a 301 or 302 for a POST, a GET without the body follows",
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (302, "post", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"),
      (303, "DELETE", "GET"), (303, "PURGE", "GET"), (303, "HEAD", "HEAD"), (303, "GET", "GET"),
      (301, "PUT", nil), (302, "PUT", nil), (301, "PATCH", nil), (302, "DELETE", nil), (302, "HEAD", nil),
      (307, "POST", nil), (308, "POST", nil), (307, "PUT", nil), (308, "PATCH", nil),
    ] as [(Int, String, String?)])
  func methods(status: Int, method: String, following: String?) throws {
    mock.redirect(status, to: "/b")
    let describing = [
      "Content-Encoding", "Content-Language", "Content-Location", "Content-MD5", "Digest", "Repr-Digest",
    ]
    let request = try HTTPRequest.sending(
      HTTPMethod(method), "http://example.com/a", headers: (describing + ["Accept"]).map { ($0, "x") },
      body: .data(Data("body".utf8), contentType: "text/plain"))

    let load = api.load(request)

    expectEqual(load.text, "success")
    expectEqual(mock.requests[1].method.name, following ?? method)
    expectEqual(mock.requests[1].body.isEmpty, (following != nil))
    try expectEqual(mock.requests[1].body.bytes(), Data((following == nil ? "body" : "").utf8))
    expectEqual(mock.requests[1].headers.map(\.name), (following == nil ? describing : []) + ["Accept"])
  }

  @Test(
    "A body that can be sent only once fails the load",
    arguments: [301, 302, 307, 308])
  func notReplayable(status: Int) throws {
    mock.on(.any, .redirect(status, to: "/b?secret"))
    let body = HTTPBody.stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }

    let load = api.load(try .sending(.put, "http://example.com/a?secret", body: body))

    let error = try #require(load.outcomeIfCompleted?.error)
    expectEqual(error.code, .bodyNotReplayable)
    expectEqual(error.response?.status.code, status)
    expectEqual(mock.requests.count, 1)
    #expect(
      error.message
        == "PUT http://example.com/a?… was redirected with \(status) to http://example.com/b?… with the same body. "
        + "The body can be sent only once. Use data or a file.")
  }

  @Test("A body that can be sent only once does not matter if the next request has none")
  func notReplayableGoes() throws {
    mock.redirect(303, to: "/b")
    let body = HTTPBody.stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }

    let load = api.load(try .sending(.post, "http://example.com/a", body: body))

    #expect(load.text == "success" && mock.sent[1] == "GET http://example.com/b")
  }

  @Test("A replayable stream is opened again for each request")
  func replayed() throws {
    mock.redirect(307, to: "/b", "/c")
    let data = Data("stream".utf8)
    let body = HTTPBody.stream {
      var rest = data
      return HTTPBodyReader { maximum in
        defer { rest = rest.dropFirst(maximum) }
        return rest.prefix(maximum)
      }
    }

    let load = api.load(try .sending(.post, "http://example.com/a", body: body))

    expectEqual(load.text, "success")
    try expectEqual(mock.requests.map { try $0.body.bytes() }, [data, data, data])
  }

  @Test(
    "A `Location` is resolved against the URL of its request",
    arguments: [
      ("b", "http://example.com/x/b"), ("./b", "http://example.com/x/b"), ("../b", "http://example.com/b"),
      ("/b", "http://example.com/b"), ("?q", "http://example.com/x/y?q"), ("#f", "http://example.com/x/y?z"),
      ("//other.example/b", "http://other.example/b"), ("HTTPS://OTHER.example:443/B", "https://other.example:443/B"),
      ("/a%20b?c%2Fd", "http://example.com/a%20b?c%2Fd"),
    ])
  func resolves(location: String, url: String) throws {
    mock.redirect(to: location)

    let load = api.load(anyRequest("/x/y?z"))

    #expect(load.text == "success" && mock.sent[1] == "GET \(url)")
  }

  @Test("The next request has the same options, and its failure is the outcome")
  func travels() {
    mock.on("/a", .redirect(to: "/b"))
    mock.on("/b", .fail(Oops()))
    var request = anyRequest("/a")
    request.attempt = 7

    let load = api.load(request)

    #expect(load.text == "oops" && mock.requests.map { $0.attempt } == [7, 7])
  }

  @Test("Loading the request of a response again begins without redirects")
  func again() throws {
    mock.redirect(to: "/b")
    let first = try #require(api.load(anyRequest("/a")).outcomeIfCompleted?.value)
    mock.answer()

    let second = try #require(api.load(first.request).outcomeIfCompleted?.value)

    expectEqual(first.redirections.count, 1)
    #expect(second.redirections.isEmpty)
  }

  @Test("A redirect is resolved against the URL that an inner layer has completed")
  func path() throws {
    mock.redirect(to: "../c", "/d")
    let environment = try ServerEnvironment(host: "example.com", pathPrefix: "/v1/x")
    let api = Redirect() --> ApplyEnvironment(environment) --> mock

    let load = api.load(try HTTPRequest(.get, path: "a"))

    expectEqual(load.text, "success")
    #expect(
      mock.sent == ["GET https://example.com/v1/x/a", "GET https://example.com/v1/c", "GET https://example.com/d"])
    expectEqual(load.outcomeIfCompleted?.value?.redirections.map(\.url.path), ["/v1/x/a", "/v1/c"])
  }

  @Test("A request that never gets a host cannot follow a redirect")
  func noHost() throws {
    let location = try HTTPHeaders(["Location": "/b"])
    let end = AnsweringEnd { HTTPResponse(to: $0, status: HTTPStatus(302), headers: location) }

    let load = (Redirect() --> end).load(try HTTPRequest(.get, path: "a"))

    expectEqual(load.text, "missingHost")
    #expect(load.outcomeIfCompleted?.error?.response != nil)
  }

  @Test("A reset is forwarded")
  func reset() {
    let end = HeldResets()
    end.mock.redirect(to: "/b")
    let api = Redirect() --> end
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()

    expectEqual(load.text, "success")
    expectEqual(reset.text, "success")
    expectEqual(end.resetCount, 1)
  }

  @Test("A request value loaded twice follows two redirects (H7, one load, one execution)")
  func twice() {
    let held = [mock.hold(), mock.hold()]
    let loads = [api.load(anyRequest("/a")), api.load(anyRequest("/a"))]
    mock.on("/b", .text("b"))
    mock.on("/c", .text("c"))

    held[1].redirect(to: "/c")
    held[0].redirect(to: "/b")

    let responses = loads.map { $0.outcomeIfCompleted?.value }
    expectEqual(responses.map { $0?.request.path }, ["/b", "/c"])
    expectEqual(responses.map { $0?.redirections.count }, [1, 1])
  }

  @Test("Responses and proposals print no query (H11, no printed secret)")
  func redaction() throws {
    mock.redirect(to: "/b?sentinel")
    let shown = Locked("")
    let policy = Redirect.Policy { proposal in
      shown.withLock { _ = dump(proposal, to: &$0) }
      return .follow(proposal.request)
    }
    var request = anyRequest("/a?sentinel")
    try request.setHeader("Authorization", "sentinel")

    let response = try #require((Redirect(policy: policy) --> mock).load(request).outcomeIfCompleted?.value)

    shown.withLock { _ = dump(response.redirections, to: &$0) }
    #expect(shown.value.contains("example.com") && !shown.value.contains("sentinel"))
  }
}
