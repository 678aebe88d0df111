import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect, policy")
struct RedirectPolicyTests {
  private let mock = MockLoader()

  private func api(_ decide: @escaping @Sendable (Redirect.Proposal) throws -> Redirect.Decision) -> any HTTPLoader {
    Redirect(policy: .init(decide)) --> mock
  }

  private func request(_ method: HTTPMethod = .get) throws -> HTTPRequest {
    try .sending(
      method, "http://example.com/a", headers: [("Authorization", "secret"), ("X-Session", "secret"), ("Accept", "a")])
  }

  @Test("The policy gets the response, the next request with its whole URL, and the number of the redirect")
  func sees() throws {
    let log = Recorder()
    mock.redirect(307, to: "b?c", "//other.example/")
    let api = api { proposal in
      log("\(proposal.number): \(proposal.response.status), \(proposal.request), \(proposal.request.headers)")
      return .follow(proposal.request)
    }

    let load = api.load(try request())

    expectEqual(load.text, "success")
    #expect(
      log.entries == [
        "1: 307, GET http://example.com/b?…, [Authorization, X-Session, Accept]",
        "2: 307, GET http://other.example/, [X-Session, Accept]",
      ])
  }

  @Test("The load succeeds with the redirect at which the policy stops")
  func stops() throws {
    mock.on("/a", .redirect(to: "/b"))
    mock.on("/b", .redirect(to: "/c"))

    let load = api { $0.number == 1 ? .follow($0.request) : .stop }.load(try request())

    let response = try #require(load.outcomeIfCompleted?.value)
    expectEqual(response.status.code, 302)
    expectEqual(response.request.path, "/b")
    expectEqual(response.redirections.count, 1)
  }

  @Test("The policy can stop a redirect whose body cannot be sent again")
  func stopsBeforeBody() throws {
    mock.on("/a", .redirect(307, to: "/b"))
    var request = try request(.post)
    request.body = .stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }

    let load = api { _ in .stop }.load(request)

    expectEqual(load.outcomeIfCompleted?.value?.status.code, 307)
  }

  @Test("An error of the policy fails or cancels the load")
  func throwing() throws {
    mock.onOthers(.redirect(to: "/b"))

    let failed = api { _ in throw Oops() }.load(try request())
    let cancelled = api { _ in throw CancellationError() }.load(try request())

    expectEqual(failed.text, "oops")
    expectEqual(cancelled.text, "cancelled")
    expectEqual(mock.requests.count, 2)
  }

  @Test("The policy may change the next request")
  func changes() throws {
    mock.redirect(to: "/b")
    let api = api { proposal in
      var request = proposal.request
      request.target = .url(try HTTPURL("http://example.com/changed"))
      request.method = .head
      try request.setHeader("Accept", "b")
      return .follow(request)
    }

    let load = api.load(try request())

    #expect(load.text == "success" && mock.sent[1] == "HEAD http://example.com/changed")
    #expect(mock.requests[1].headers["Accept"] == "b" && mock.requests[1].headers["Authorization"] == "secret")
  }

  @Test("A change of origin removes credentials, except a value that the policy sets")
  func otherOrigin() throws {
    mock.onOthers(.redirect(to: "/b"))
    var request = try request()
    request.sensitiveHeaders.insert("x-session")
    try request.setHeader("Cookie", "secret")
    try request.setHeader("Referer", "http://example.com/")
    request.redirects = .limit(1)
    let api = api { proposal in
      var next = proposal.request
      next.target = .url(try HTTPURL("http://other.example/"))
      next.sensitiveHeaders = SensitiveHeaders.defaultValue
      try next.addHeader("Authorization", "its own")
      return .follow(next)
    }

    _ = api.load(request)

    expectEqual(mock.requests[1].url?.host, "other.example")
    expectEqual(mock.requests[1].headers, (try HTTPHeaders([("Accept", "a"), ("Authorization", "its own")])))
  }

  @Test("The policy cannot restore removed credentials by accident")
  func givesBack() throws {
    mock.onOthers(.redirect(to: "http://other.example/"))
    var request = try request()
    request.redirects = .limit(1)
    let api = api { proposal in
      var next = proposal.response.request
      next.target = proposal.request.target
      return .follow(next)
    }

    _ = api.load(request)

    #expect(mock.requests[1].url?.host == "other.example" && mock.requests[1].headers["Authorization"] == nil)
  }

  @Test("Credentials that an inner layer has added do not reach another origin")
  func addedBehind() throws {
    mock.onOthers(.redirect(to: "http://other.example/"))
    let policy = Redirect.Policy { proposal in
      var next = proposal.response.request
      next.target = proposal.request.target
      return .follow(next)
    }
    let api =
      Redirect(limit: 1, policy: policy)
      --> ModifyRequest { request in
        if request.url?.host == "example.com" { try request.setHeader("Cookie", "jar") }
      } --> mock

    _ = api.load(anyRequest())

    expectEqual(mock.requests.map { $0.headers["Cookie"] }, ["jar", nil])
  }

  @Test("The request of the policy needs a URL, no downgrade from https, and a replayable body")
  func rules() throws {
    mock.onOthers(.redirect(307, to: "/b"))
    let secure = try HTTPRequest(.post, "https://example.com/a")

    let loads: [Future<HTTPResponse>] = [
      api { _ in .follow(try HTTPRequest("http://example.com/")) },
      api { _ in .follow(try HTTPRequest(.get, path: "/")) },
      api { proposal in
        var request = proposal.request
        request.body = .stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }
        return .follow(request)
      },
    ].map { $0.load(secure) }

    expectEqual(loads.map(\.text), ["insecureRedirect", "missingHost", "bodyNotReplayable"])
    #expect(loads.allSatisfy { $0.outcomeIfCompleted?.error?.response?.status.code == 307 })
    expectEqual(mock.requests.count, 3)
  }

  @Test("The policy is not called for a refused redirect, nor beyond the limit")
  func notAsked() throws {
    let log = Recorder()
    mock.on("/a", .redirect(to: "file:///"))
    mock.on("/b", .redirect(to: "/b").forever())
    let policy = Redirect.Policy { proposal in
      log("\(proposal.number)")
      return .follow(proposal.request)
    }
    let api = Redirect(limit: 2, policy: policy) --> mock

    let loads = [api.load(anyRequest("/a")), api.load(anyRequest("/b"))]

    expectEqual(loads.map(\.text), ["invalidRedirect", "tooManyRedirects"])
    expectEqual(log.entries, ["1", "2"])
  }

  @Test("The policy may load with the same chain, and runs outside every lock")
  func reentrant() throws {
    let chain = Locked<(any HTTPLoader)?>(nil)
    mock.on("/a", .redirect(to: "/b"))
    mock.on("/b", .redirect(to: "/c").forever())
    mock.on("/c", .text("c").forever())
    let api = api { proposal in
      if proposal.number == 1, proposal.request.path == "/b" { _ = chain.value?.load(anyRequest("/b")) }
      return .follow(proposal.request)
    }
    chain.value = api

    let load = api.load(try request())

    expectEqual(load.text, "success")
    expectEqual(mock.requests.count, 5)
    chain.value = nil
  }
}
