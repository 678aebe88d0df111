import FutureTreeHTTPStore
import HTTPTestSupport
import TestSupport

#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeTesting
  import HTTPTestSupport
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  /// The servers that `.ci/servers` has started.
  private struct Servers: Decodable, Sendable {
    let nginx: String
    let tls12: String
    let httpbin: String?
    let tus: String?
    let early: String
    let socket: String
    let roots: String
    let certificate: String
    let key: String
    let lockedKey: String
    let pin: String
    let httpProxy: UInt16
    let socksProxy: UInt16
    let user: String
    let password: String
    let hasBrotli: Bool

    static let all: Servers? = ProcessInfo.processInfo.environment["FUTURETREE_SERVERS"].map { path in
      try! JSONDecoder().decode(Servers.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
  }

  /// Each test makes requests to servers and proxies of other projects, so they run where `.ci/servers` has started them.
  @Suite(
    "CurlLoader: nginx, httpbin, tuspyserver and proxies", .onSockets,
    .enabled(if: Servers.all != nil, "`.ci/servers swift test --filter RealServerTests` starts the servers."))
  struct RealServerTests {
    private let servers: Servers

    init() throws { servers = try #require(Servers.all) }

    private func loader(_ change: (inout CurlLoader.Configuration) -> Void = { _ in }) -> CurlLoader {
      CurlLoader(
        .patient {
          $0.security.roots = .file(servers.roots)
          change(&$0)
        })
    }

    private func get(
      _ url: String, _ change: (inout CurlLoader.Configuration) -> Void = { _ in }
    ) async -> String {
      await get(url, over: loader(change))
    }

    /// Returns the body, or the code of the error.
    private func get(_ url: String, over api: any HTTPLoader) async -> String {
      let outcome = await api.load(try! HTTPRequest(url)).outcome
      guard case .success(let response) = outcome else { return outcome.text }
      return String(decoding: try! response.body, as: UTF8.self)
    }

    // MARK: - TLS

    @Test("Buffered loads use HTTP/2 over TLS, and streams use HTTP/1.1")
    func versions() async throws {
      let facts = Locked<[String?]>([])
      let loader = loader {
        $0.onExchange = { exchange in facts.withLock { $0.append(exchange.timings.protocolVersion) } }
      }

      #expect(await get("\(servers.nginx)/facts", over: loader).hasPrefix("HTTP/2.0 TLSv1.3 "))
      #expect(await get("\(servers.nginx)/facts") { $0.allowsHTTP2 = false }.hasPrefix("HTTP/1.1 TLSv1.3 "))
      var request = try HTTPRequest("\(servers.nginx)/facts")
      request.delivery = .stream(bufferLimit: 4096)
      let response = try await loader.load(request).value
      var body = Data()
      for try await chunk in response.bodyStream { body += chunk }
      _ = await response.transfer.outcome

      #expect(String(decoding: body, as: UTF8.self).hasPrefix("HTTP/1.1 TLSv1.3 "))
      expectEqual(facts.withLock { $0 }, ["2", "1.1"])
    }

    @Test("Loads at the same time share one connection of HTTP/2, and cancelling some leaves the others")
    func multiplexed() async throws {
      let loader = loader()
      let loads = try (0..<60).map { _ in try loader.load(HTTPRequest("\(servers.nginx)/facts")) }
      for index in stride(from: 0, to: 60, by: 3) { loads[index].cancel() }

      var connections: Set<Substring> = []
      for (index, load) in loads.enumerated() {
        let outcome = await load.outcome
        if case .success(let response) = outcome {
          connections.insert(String(decoding: try response.body, as: UTF8.self).split(separator: " ")[2])
        } else {
          #expect(index.isMultiple(of: 3))
          expectEqual(outcome.text, "cancelled")
        }
      }

      expectEqual(connections.count, 1)
    }

    @Test("A server is verified with the roots, the pins and the lowest version that were set")
    func verified() async throws {
      let url = "\(servers.nginx)/facts"
      let (pem, pin) = (try Data(contentsOf: URL(fileURLWithPath: servers.roots)), servers.pin)

      #expect(await get(url) { $0.security.roots = .data(pem) }.hasPrefix("HTTP/2.0"))
      #expect(await get(url) { $0.security.pinnedKeys = [pin] }.hasPrefix("HTTP/2.0"))
      await expectEqual(get(servers.tls12), "TLSv1.2")

      let refused = "insecureConnection"
      await expectEqual(get(url) { $0.security.roots = .system }, refused)
      await expectEqual(get(url) { $0.security.roots = .file("/nowhere") }, refused)
      await expectEqual(get(url) { $0.security.pinnedKeys = [Data(count: 32).base64EncodedString()] }, refused)
      await expectEqual(get(servers.tls12) { $0.security.minimumVersion = .tls13 }, refused)
      await expectEqual(
        get(url.replacingOccurrences(of: "localhost", with: "other.test")) {
          $0.addresses = ["other.test": ["127.0.0.1"]]
        }, refused)
    }

    @Test("The certificate of the client is shown, and its key may be locked")
    func clientCertificate() async {
      let url = "\(servers.nginx)/client"
      func answer(key: String, password: String?) async -> String {
        await get(url) {
          $0.security.clientCertificate = .init(certificate: servers.certificate, key: key, password: password)
        }
      }

      await expectEqual(get(url), "NONE ")
      await expectEqual(answer(key: servers.key, password: nil), "SUCCESS CN=client of the test")
      await expectEqual(answer(key: servers.lockedKey, password: servers.password), "SUCCESS CN=client of the test")
      await expectEqual(answer(key: servers.lockedKey, password: "wrong"), "insecureConnection")
      await expectEqual(answer(key: "/nowhere", password: nil), "insecureConnection")
    }

    // MARK: - Connections

    @Test("A name has the addresses that were set, and a Unix socket replaces the connection")
    func addresses() async {
      let named = servers.nginx.replacingOccurrences(of: "localhost", with: "named.test")

      #expect(await get("\(named)/facts") { $0.addresses = ["named.test": ["127.0.0.1"]] }.hasSuffix(" named.test"))
      #expect(await get("http://any.test/facts") { $0.unixSocketPath = servers.socket }.hasSuffix(" any.test"))
      #expect(await get("http://any.test/facts") { $0.unixSocketPath = "/nowhere" } == "cannotConnect")
    }

    @Test("Proxies open tunnels, with credentials, and their refusals are errors")
    func proxies() async throws {
      let (url, proxy) = ("\(servers.nginx)/facts", servers)
      func counts() async -> [Int] {
        await get("http://127.0.0.1:\(proxy.httpProxy)/count").split(separator: " ").compactMap { Int($0) }
      }
      let before = await counts()

      let tunnel = await get(url) {
        $0.proxy = .http("127.0.0.1", port: proxy.httpProxy, userName: proxy.user, password: proxy.password)
      }
      let socks = await get(url) { $0.proxy = .socks5("127.0.0.1", port: proxy.socksProxy) }
      let refused = await get(url) {
        $0.proxy = .http("127.0.0.1", port: proxy.httpProxy, userName: proxy.user, password: "wrong")
      }

      #expect(tunnel.hasPrefix("HTTP/2.0 TLSv1.3") && socks.hasPrefix("HTTP/2.0 TLSv1.3"))
      expectEqual(refused, "cannotConnect")
      await expectEqual(counts(), [before[0] + 1, before[1] + 1])
    }

    // MARK: - Messages

    @Test("Interim responses and trailers are delivered, and are facts of the exchange")
    func early() async throws {
      let links = Locked<[String?]>([])
      var request = try HTTPRequest(servers.early)
      request.onInterimResponse = { response in links.withLock { $0.append(response.headers["Link"]) } }
      let response = try await self.loader().load(request).value
      expectEqual(links.value, ["</style.css>; rel=preload"])
      expectEqual(response.trailers["X-Checksum"], "abc")
    }

    @Test("Bodies of every coding are decoded to the same text")
    func codings() async throws {
      let url = "\(servers.nginx)/text"
      let text = await get(url) { $0.acceptsEncodedBodies = false }

      #expect(text.hasPrefix("line 0 of") && text.hasSuffix("compressed\n") && text.utf8.count > 800_000)
      for coding in ["gzip"] + (servers.hasBrotli && BodyDecoder.codings.contains("br") ? ["br"] : []) {
        let api = ModifyRequest { try $0.setHeader("Accept-Encoding", coding) } --> loader()
        let response = try await api.load(HTTPRequest(url)).value
        #expect(
          try String(decoding: response.body, as: UTF8.self) == text && response.headers["Content-Encoding"] == nil)
      }
      await expectEqual(get(url), text)
    }

    @Test(
      "A large upload arrives whole, over HTTP/2 and HTTP/1.1, at once or after the consent of the server",
      arguments: [true, false], [true, false])
    func upload(allowsHTTP2: Bool, expectsContinue: Bool) async throws {
      let loader = loader { $0.allowsHTTP2 = allowsHTTP2 }
      var random = RandomSource.seeded(1)
      let body = Data(
        (0..<(1 << 20)).flatMap { _ in
          withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &random)) { Array($0) }
        })
      let url = "\(servers.nginx)/put/\(allowsHTTP2)-\(expectsContinue)"
      var request = try HTTPRequest(.put, url)
      request.body = .data(body)
      request.expectsContinue = expectsContinue

      try await expectEqual(loader.load(request).value.status, .created)
      try await expectEqual(loader.load(HTTPRequest(url)).value.body, body)
    }

    @Test("A refused upload is not read, where HTTP/2 is allowed and where not", arguments: [true, false])
    func refusedUpload(allowsHTTP2: Bool) async throws {
      let loader = loader { $0.allowsHTTP2 = allowsHTTP2 }
      let opened = Locked(0)
      var request = try HTTPRequest(.put, "\(servers.nginx)/text")
      request.expectsContinue = true
      request.body = .stream(length: 1 << 16) {
        opened.withLock { $0 += 1 }
        return HTTPBodyReader { _ in throw Oops() }
      }

      try await expectEqual(loader.load(request).value.status, HTTPStatus(405))
      try await expectEqual(loader.load(HTTPRequest("\(servers.nginx)/text")).value.status, .ok)
      expectEqual(opened.value, 0)
    }

    @Test("A throttle follows the limit that Flask-Limiter announces")
    func rateLimit() async throws {
      guard let httpbin = servers.httpbin else { return }
      let throttle = Throttle(1, followsServerLimits: true, clock: ManualClock())
      let api = throttle --> loader()
      let request = try HTTPRequest("\(httpbin)/limited?client=\(UUID().uuidString)")

      let first = try await api.load(request).value
      let second = try await api.load(request).value
      let third = api.load(request)

      expectEqual([first, second].map { $0.rateLimit()?.remaining }, [1, 0])
      let reset = try #require(second.rateLimit()?.reset)
      #expect(.seconds(3500) < reset && reset < .seconds(3610))  // It rounds up.
      expectEqual(throttle.waitingCount, 1)
      expectEqual(third.cancel().activity, "waiting for a slot")
      expectEqual(third.text, "cancelled")
      let refused = try await loader().load(request).value
      expectEqual(refused.status, .tooManyRequests)
      expectEqual(refused.rateLimit()?.remaining, 0)
    }

    @Test("An upload to tuspyserver arrives byte for byte, and its record is removed")
    func tus() async throws {
      guard let tus = servers.tus else { return }
      let folder = try Folder()
      let film = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) })
      let file = folder.file("film")
      try film.write(to: file)
      let records = folder.file("uploads")
      let api = ResumeUploads(.tus, directory: records, clock: ManualClock()) --> loader()
      var request = try HTTPRequest(.post, "\(tus)/files/")
      request.body = .file(file, contentType: "video/mp4")
      try request.setHeader("Upload-Metadata", "filename ZmlsbQ==,filetype dmlkZW8vbXA0")
      let sent = Locked(0)
      request.progress = { progress in sent.value = progress.sent.completed }

      let response = try await api.load(request).value

      expectEqual(response.status, .noContent)
      expectEqual(sent.value, film.count)
      let stored = try await loader().load(HTTPRequest(.get, try #require(response.request.url))).value
      #expect(try stored.body == film)
      expectEqual(
        try FileManager.default.contentsOfDirectory(atPath: records.path).filter { $0.hasSuffix(".upload") }, [])
    }

    @Test("Redirects, log-ins, cookies, streams and cancellations work with httpbin")
    func httpbin() async throws {
      guard let httpbin = servers.httpbin else { return }
      let loader = loader()

      for coding in ["gzip", "deflate", "brotli"] {
        #expect(await get("\(httpbin)/\(coding)", over: loader).contains("true"))
      }
      #expect(await get("\(httpbin)/redirect/3", over: Redirect() --> loader).contains("\(httpbin)/get"))
      #expect(
        await get("\(httpbin)/cookies/set/a/b", over: Redirect() --> StoreCookies(in: CookieJar()) --> loader).contains(
          "\"a\": \"b\""))
      var request = try HTTPRequest("\(httpbin)/basic-auth/user/password")
      try request.setHeader("Authorization", "Basic \(Data("user:password".utf8).base64EncodedString())")
      try await expectEqual(loader.load(request).value.status, .ok)
      request = try HTTPRequest("\(httpbin)/stream/20")
      request.delivery = .stream(bufferLimit: 256)
      var lines = 0
      for try await _ in try await loader.load(request).value.lines { lines += 1 }
      expectEqual(lines, 20)
      let delayed = try loader.load(HTTPRequest("\(httpbin)/delay/10"))
      delayed.cancel()
      await expectEqual(delayed.outcome.text, "cancelled")
    }
  }
#endif
