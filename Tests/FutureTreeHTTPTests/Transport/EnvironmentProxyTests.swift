import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("EnvironmentProxy") struct EnvironmentProxyTests {
  private func proxy(_ url: String, _ variables: [String: String]) throws -> EnvironmentProxy? {
    EnvironmentProxy(for: try HTTPURL(url)) { variables[$0] }
  }

  @Test(
    "Each scheme has its variables, and empty variables are ignored",
    arguments: [
      ("http://a/", ["http_proxy": "http://p:1"], true), ("http://a/", ["all_proxy": "p"], true),
      ("http://a/", ["ALL_PROXY": "p"], true), ("http://a/", ["HTTP_PROXY": "p", "https_proxy": "p"], false),
      ("https://a/", ["https_proxy": "p"], true), ("https://a/", ["HTTPS_PROXY": "p"], true),
      ("https://a/", ["http_proxy": "p"], false), ("https://a/", ["https_proxy": "", "all_proxy": "p"], true),
      ("https://a/", ["https_proxy": ""], false), ("https://a/", [:], false),
    ])
  func variables(url: String, variables: [String: String], hasProxy: Bool) throws {
    try expectEqual((proxy(url, variables) != nil), hasProxy)
  }

  @Test(
    "Hosts in `no_proxy`, and the hosts below them, have no proxy",
    arguments: [
      ("*", false), ("a.example", false), ("example", false), (".example", false), ("b, A.Example", false), ("", true),
      ("b c", true), ("xample", true), ("b.a.example", true), ("127.0.0.0/8", true), (",", true),
    ])
  func exceptions(list: String, hasProxy: Bool) throws {
    for name in ["no_proxy", "NO_PROXY"] {
      #expect(try (proxy("https://a.example/", ["all_proxy": "p", name: list]) != nil) == hasProxy)
    }
  }

  @Test(
    "The name has no credentials",
    arguments: [
      ("p.example:3128", #""p.example:3128""#), ("http://p.example:3128/", #""p.example:3128""#),
      ("http://user:secret@p:1", #""p:1""#), ("user:secret@p", #""p""#),
      ("http://u:secret@secret@p", #""p""#), ("http://", #""""#),
    ])
  func name(value: String, name: String) throws {
    #expect(try proxy("http://a/", ["http_proxy": value])?.name == name)
  }

  @Test("Only requests with https through an HTTP proxy open a tunnel")
  func tunnel() throws {
    #expect(try proxy("https://a/", ["all_proxy": "p"])?.opensTunnel == true)
    #expect(try proxy("https://a/", ["all_proxy": "https://p"])?.opensTunnel == true)
    #expect(try proxy("https://a/", ["all_proxy": "SOCKS5h://p"])?.opensTunnel == false)
    #expect(try proxy("http://a/", ["all_proxy": "p"])?.opensTunnel == false)
  }
}

/// The heads that `URLSession` on Linux reports of a load through a proxy: those of the proxy and of the server.
@Suite("Heads of a tunnel") struct TunnelHeadTests {
  private let live = LiveLoads()

  private func begin(isStream: Bool = false) throws -> (Transfer, Future<HTTPResponse>) {
    var request = try HTTPRequest("https://bank.example/")
    if isStream { request.delivery = .stream() }
    let exchange = try HTTPExchange(of: request, .init(timeout: nil, idleTimeout: nil, maximumBodySize: 100))
    let url = try HTTPURL("https://bank.example/")
    let transfer = Transfer(exchange, SessionQueues(), EnvironmentProxy(for: url) { $0 == "https_proxy" ? "p:1" : nil })
    return (transfer, exchange.start(in: live) {})
  }

  private func head(_ status: Int, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
    let url = try #require(URL(string: "https://bank.example/"))
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
  }

  private func error(_ text: String, _ code: Int = -1) -> NSError {
    NSError(domain: NSURLErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  private let ofProxy = ["Set-Cookie": "a=planted", "X-From": "proxy"]

  @Test("The answer to CONNECT is skipped, and the head of the server is delivered at once", arguments: [true, false])
  func opened(isStream: Bool) throws {
    let (transfer, load) = try begin(isStream: isStream)

    transfer.headArrived(try head(200, ofProxy))
    expectEqual(load.text, "pending")
    #expect(!transfer.exchange.hasHead)
    transfer.headArrived(try head(103))
    transfer.headArrived(try head(200, ["X-From": "server"]))
    expectEqual(load.isCompleted, isStream)
    transfer.dataArrived(Data("ok".utf8))
    transfer.ended(nil, nil)

    let response = try #require(load.outcomeIfCompleted).get()
    expectEqual(response.headers["X-From"], "server")
    #expect(response.headers["Set-Cookie"] == nil)
    expectEqual(response.bodySize, 2)
  }

  @Test("The head of a reused tunnel is delivered with its body", arguments: [200, 302, 404])
  func reused(status: Int) throws {
    let (transfer, load) = try begin()

    transfer.headArrived(try head(status, ["X-From": "server"]))
    transfer.dataArrived(Data("ok".utf8))
    transfer.ended(nil, nil)

    let response = try #require(load.outcomeIfCompleted).get()
    expectEqual(response.status.code, status)
    expectEqual(response.headers["X-From"], "server")
    expectEqual(response.bodySize, 2)
  }

  @Test("The head of a reused tunnel that asks for credentials is delivered")
  func challenge() throws {
    let (transfer, load) = try begin()

    transfer.headArrived(try head(401, ["X-From": "server"]))
    transfer.challengeRefused()
    transfer.ended(error("", -999), nil)

    try expectEqual(load.outcomeIfCompleted?.get().status.code, 401)
  }

  @Test("A body that is cut in a reused tunnel is truncated")
  func cut() throws {
    let (transfer, load) = try begin()

    transfer.headArrived(try head(200))
    transfer.ended(error("transfer closed with 5 bytes remaining to read"), nil)

    expectEqual(load.text, "truncatedBody")
  }

  @Test(
    "A refusal of the proxy is an error that names the proxy",
    arguments: ["CONNECT tunnel failed, response 407", "Received HTTP code 407 from proxy after CONNECT"])
  func refused(text: String) throws {
    let (transfer, load) = try begin()

    transfer.headArrived(try head(407, ofProxy))
    transfer.ended(error(text), nil)

    let error = load.outcomeIfCompleted?.error
    expectEqual(error?.code, .cannotConnect)
    #expect(error?.response == nil)
    expectEqual(error?.message.contains("p:1"), true)
    expectEqual(error?.message.contains("407"), true)
  }

  @Test("A tunnel to a server without a trusted certificate is no secure connection")
  func untrusted() throws {
    let (transfer, load) = try begin(isStream: true)

    transfer.headArrived(try head(200, ofProxy))
    transfer.ended(error("SSL certificate problem: self-signed certificate"), nil)

    expectEqual(load.text, "insecureConnection")
  }
}

#if canImport(FoundationNetworking)
  /// Loads a URL, with no proxy but those of `variables`.
  private func outcome(
    _ url: String, _ variables: [String: String], isStream: Bool = false
  ) async throws -> Outcome<HTTPResponse> {
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
      unsetenv(name)
    }
    for (name, value) in variables { setenv(name, value, 1) }
    var request = try HTTPRequest(url)
    if isStream { request.delivery = .stream() }
    return await URLSessionLoader(.patient).load(request).outcome
  }

  /// Each test has a process of its own, because libcurl reads the environment of the process.
  @Suite("URLSessionLoader, proxies of the environment", .onSockets) struct ProxyTests {
    @Test("A proxy that refuses a tunnel fails the load, and its answer is not one of the server")
    func refused() async {
      await #expect(processExitsWith: .success) {
        let proxy = try LoopbackServer()
        for (status, field) in [(302, ("Location", "https://b/")), (401, ("WWW-Authenticate", "Basic realm=\"a\""))] {
          proxy.on("bank.example:443", .respond(status: status, headers: [field]))
          for isStream in [true, false] {
            let outcome = try await outcome("https://bank.example/", ["https_proxy": proxy.url("")], isStream: isStream)

            let error = outcome.error
            #expect(error?.code == .cannotConnect && error?.response == nil, "\(status): \(outcome)")
            expectEqual(error?.message.contains("127.0.0.1:\(proxy.port)"), true, "\(outcome)")
          }
        }
        for status in [404, 407] {
          proxy.on("bank.example:443", .respond(status: status, headers: [("X-From", "proxy")], body: "planted"))
          for isStream in [true, false] {
            let outcome = try await outcome("https://bank.example/", ["HTTPS_PROXY": proxy.url("")], isStream: isStream)

            let error = outcome.error
            #expect(error?.code == .cannotConnect && error?.response == nil, "\(status): \(outcome)")
            expectEqual(error?.message.contains("\(status)"), true, "\(outcome)")
          }
        }
      }
    }

    @Test("A tunnel that ends before TLS is no secure connection, and its answer is not one of the server")
    func closed() async {
      await #expect(processExitsWith: .success) {
        let proxy = try LoopbackServer()
        let answer = "HTTP/1.1 200 Connection established\r\nSet-Cookie: a=planted\r\n\r\n"
        proxy.on("bank.example:443", [.send(answer), .close])
        for isStream in [true, false] {
          let outcome = try await outcome("https://bank.example/", ["all_proxy": proxy.url("")], isStream: isStream)

          expectEqual(outcome.code, .insecureConnection, "\(outcome)")
        }
      }
    }

    @Test("A proxy that closes its connection, or cannot be used, is named")
    func broken() async {
      await #expect(processExitsWith: .success) {
        let proxy = try LoopbackServer()
        proxy.on("bank.example:443", .close)
        let url = "https://bank.example/"

        let closed = try await outcome(url, ["https_proxy": proxy.url("")])
        let unknown = try await outcome(url, ["https_proxy": "http://user:\(sentinel)@nothing.invalid:3128"])
        let unsupported = try await outcome(url, ["https_proxy": "ftp://user:\(sentinel)@127.0.0.1:9"])

        #expect(
          closed.code == .cannotConnect && closed.error?.message.contains("127.0.0.1:\(proxy.port)") == true,
          "\(closed)")
        #expect(
          unknown.code == .unknownHost && unknown.error?.message.contains("nothing.invalid:3128") == true, "\(unknown)")
        expectEqual(unsupported.code, .invalidConfiguration, "\(unsupported)")
        #expect(!showsSecret(unknown) && !showsSecret(unsupported))
      }
    }

    @Test("Errors of requests with http name the proxy")
    func plain() async {
      await #expect(processExitsWith: .success) {
        let unknown = try await outcome("http://a.invalid/", ["http_proxy": "http://nothing.invalid:3128"])
        #expect(
          unknown.code == .unknownHost && unknown.error?.message.contains("nothing.invalid:3128") == true, "\(unknown)")

        let proxy = try RefusingPort()
        let refused = try await outcome("http://a.invalid/", ["http_proxy": proxy.url("")])
        #expect(
          refused.code == .cannotConnect && refused.error?.message.contains("127.0.0.1:\(proxy.port)") == true,
          "\(refused)")
      }
    }
  }
#endif
