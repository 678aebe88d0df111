import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionLoader, platform configuration", .onSockets) struct PlatformConfigurationTests {
  private let server: LoopbackServer
  private let platform = URLSessionConfiguration.default

  init() throws {
    server = try Loopback.server()
    server.on("/ok", .respond(headers: [("Set-Cookie", "a=1; Path=/"), ("Cache-Control", "max-age=600")], body: "ok"))
    server.on("/stall", .stall)
    // A test must not fail because the machine is busy.
    platform.timeoutIntervalForRequest = 86_400
  }

  private func request(_ path: String = "/ok") throws -> HTTPRequest { try HTTPRequest(server.url(path)) }

  /// The code of the error that refuses the configuration.
  private func code(_ change: (URLSessionConfiguration) -> Void) -> HTTPError.Code? {
    let platform = URLSessionConfiguration.ephemeral
    change(platform)
    do throws(HTTPError) {
      _ = try URLSessionLoader(configuration: platform)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("Additional fields are sent with requests that do not have them, and the configuration is copied")
  func additionalHeaders() async throws {
    platform.httpAdditionalHeaders = ["User-Agent": "Reader/2", "X-A": "platform"]
    let loader = try URLSessionLoader(configuration: platform)
    platform.httpAdditionalHeaders = ["User-Agent": "changed"]
    var request = try request()
    try request.setHeader("x-a", "request")

    let response = try await loader.load(request).value

    let received = try #require(server.requests.first)
    expectEqual(received.values(for: "user-agent"), ["Reader/2"])
    expectEqual(received.values(for: "x-a"), ["request"])
    expectEqual(response.request.headers.map(\.name), ["x-a"])
  }

  @Test(
    "Additional fields that a request refuses are refused, and so are secrets",
    arguments: [
      ("Host", "a", "forbiddenHeader"), ("content-length", "3", "forbiddenHeader"),
      ("X\r\nY", "a", "invalidHeaderName"),
      ("X-A", "a\r\nX-B: c", "invalidHeaderValue"), ("Authorization", "Bearer a", "invalidConfiguration"),
      ("cookie", "a=b", "invalidConfiguration"), ("Accept-Encoding", "gzip", "invalidConfiguration"),
    ])
  func refusedHeaders(name: String, value: String, expected: String) {
    expectEqual(code { $0.httpAdditionalHeaders = [name: value] }?.description, expected)
  }

  @Test("Additional fields that are not text are refused")
  func noText() {
    expectEqual(code { $0.httpAdditionalHeaders = ["X-A": 1] }, .invalidConfiguration)
    expectEqual(code { $0.httpAdditionalHeaders = [1: "a"] }, .invalidConfiguration)
  }

  @Test("Cookies and responses are not stored, whatever the configuration has")
  func keepsNothing() async throws {
    platform.httpCookieStorage = .shared
    platform.httpShouldSetCookies = true
    platform.httpCookieAcceptPolicy = .always
    platform.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    platform.requestCachePolicy = .returnCacheDataElseLoad
    platform.urlCredentialStorage = .shared
    let loader = try URLSessionLoader(configuration: platform)

    for _ in 0..<2 { _ = try await loader.load(request()).value }

    expectEqual(server.requests.map { $0.values(for: "cookie") }, [[], []])
    #expect(HTTPCookieStorage.shared.cookies(for: try #require(URL(string: server.url("/ok"))))?.isEmpty ?? true)
  }

  @Test("Timeouts are applied with fractions of a second, by the loader's clock")
  func timeouts() async throws {
    platform.timeoutIntervalForResource = 1.5
    platform.timeoutIntervalForRequest = .infinity
    let clock = ManualClock()
    let loader = try URLSessionLoader(configuration: platform, clock: clock)
    let load = loader.load(try request("/stall"))
    _ = await server.waitForRequest(to: "/stall").outcome

    clock.advance(by: .milliseconds(1499))
    expectEqual(load.text, "pending")
    clock.advance(by: .milliseconds(1))

    await expectEqual(load.outcome.code, .timedOut)
    let configuration = try URLSessionLoader.Configuration(platform)
    expectEqual(configuration.timeout, .milliseconds(1500))
    #expect(configuration.idleTimeout == nil)
  }

  @Test("Timeouts that are not positive numbers are refused", arguments: [0, -1, TimeInterval.nan])
  func noTime(timeout: TimeInterval) {
    expectEqual(code { $0.timeoutIntervalForRequest = timeout }, .invalidConfiguration)
    expectEqual(code { $0.timeoutIntervalForResource = timeout }, .invalidConfiguration)
  }

  @Test("The limit of connections is that of the configuration")
  func connections() async throws {
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond()])
    platform.httpMaximumConnectionsPerHost = 1
    let loader = try URLSessionLoader(configuration: platform)
    let loads = try (0..<3).map { _ in loader.load(try request("/held")) }
    _ = try await gate.waitForHolders(1).value

    gate.open()
    for load in loads { _ = try await load.value }

    expectEqual(server.connectionCount, 1)
  }

  @Test("Protocol classes of others are refused")
  func protocolClasses() {
    final class Other: URLProtocol {}

    expectEqual(code { $0.protocolClasses = [Other.self] }, .invalidConfiguration)
    #expect(code { $0.protocolClasses = URLSessionConfiguration.default.protocolClasses } == nil)
  }

  @Test("A configuration prints no secret (H11, no printed secret)")
  func redacted() throws {
    platform.httpAdditionalHeaders = ["X-Session": sentinel]
    let configuration = try URLSessionLoader.Configuration(platform)
    platform.httpAdditionalHeaders = ["X-Session": sentinel + "\n"]
    let error = #expect(throws: HTTPError.self) { try URLSessionLoader(configuration: platform) }

    #expect(!showsSecret(configuration) && !showsSecret(URLSessionLoader(configuration)))
    expectEqual(error?.code, .invalidHeaderValue)
    #expect(!showsSecret(error as Any))
  }

  #if canImport(FoundationNetworking)
    @Test("Proxies of the configuration are refused on Linux, where the platform ignores them")
    func ignoredProxy() {
      let proxy: [AnyHashable: Any] = ["HTTPProxy": "127.0.0.1", "HTTPPort": 9, "HTTPEnable": 1]

      expectEqual(code { $0.connectionProxyDictionary = proxy }, .invalidConfiguration)
      #expect(code { $0.connectionProxyDictionary = [:] } == nil)
    }

    @Test("The proxy of the environment is used on Linux")
    func proxyOfTheEnvironment() async {
      await #expect(processExitsWith: .success) {
        let proxy = try LoopbackServer()
        proxy.on("http://nobody.invalid/feed", .respond(body: "by proxy"))
        for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
        setenv("http_proxy", proxy.url(""), 1)
        let loader = try URLSessionLoader(configuration: .default)

        let response = try await loader.load(HTTPRequest("http://nobody.invalid/feed")).value

        try expectEqual(response.body, Data("by proxy".utf8))
      }
    }
  #else
    @Test("A background session is refused")
    func background() throws {
      let error = #expect(throws: HTTPError.self) {
        try URLSessionLoader(configuration: .background(withIdentifier: "FutureTree"))
      }

      expectEqual(error?.code, .invalidConfiguration)
    }
  #endif
}
