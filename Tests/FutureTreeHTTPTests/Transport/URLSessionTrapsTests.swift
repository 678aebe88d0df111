import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The traps of `URLSession` without another suite: see the article *URLSession on Linux*.
@Suite("URLSession's traps", .onSockets) struct URLSessionTrapsTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)

  init() throws {
    server = try Loopback.server()
  }

  private func load(_ path: String) throws -> Future<HTTPResponse> { loader.load(try HTTPRequest(server.url(path))) }

  @Test("Connections are reused, and their number stays within the limit")
  func connections() async throws {
    let loader = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: 2))
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond()])
    let futures = try (0..<8).map { _ in loader.load(try HTTPRequest(server.url("/held"))) }
    _ = try await gate.waitForHolders(2).value
    expectEqual(server.requestCount, 2)

    gate.open()
    for future in futures { _ = try await future.value }

    expectEqual(server.requestCount, 8)
    expectEqual(server.connectionCount, 2)
  }

  @Test("Many successive requests use one connection")
  func sequence() async throws {
    server.on("/ok", .respond(body: "ok"))

    let request = try HTTPRequest(server.url("/ok"))
    // Each begins as the last ends, without a pause: libcurl closes connections that are idle for two minutes.
    var last = loader.load(request)
    for _ in 1..<300 { last = last.flatMap { [loader] _ in loader.load(request) } }

    try await expectEqual(last.value.body, Data("ok".utf8))
    expectEqual(server.requestCount, 300)
    expectEqual(server.connectionCount, 1)
  }

  @Test("Fields are compared without case, and cookies are separate")
  func duplicates() async throws {
    let cookies = ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2; Path=/", "c=3"]
    let fields = [("X-A", "1"), ("X-A", "2"), ("x-a", "3")] + cookies.map { ("Set-Cookie", $0) }
    server.on("/fields", .respond(headers: fields))

    let headers = try await load("/fields").value.headers

    expectEqual(headers.values(for: "Set-Cookie"), cookies)
    expectEqual(headers.values(for: "X-A").joined(separator: ", "), "1, 2, 3")
  }

  @Test("Blanks at the end of a cookie and empty fields lose no cookie")
  func blanks() async throws {
    let fields = ["a=1 ", "b=2\t", "", "c=3; Path=/", "é=4 "].map { "Set-Cookie: \($0)\r\n" }.joined()
    server.on("/fields", .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"))
    let jar = CookieJar()

    _ = try await (StoreCookies(in: jar) --> loader).load(try HTTPRequest(server.url("/fields"))).value
    _ = try await (StoreCookies(in: jar) --> loader).load(try HTTPRequest(server.url("/fields"))).value

    expectEqual(jar.cookies.map(\.name), ["a", "b", "c", "é"])
    expectEqual(jar.cookies.map(\.value), ["1", "2", "3", "4"])
    expectEqual(server.requests.last?.values(for: "cookie"), ["a=1; b=2; c=3; é=4"])
  }

  #if canImport(FoundationNetworking)
    /// When this fails, the platform is fixed, and *Fields* in the article must change.
    @Test("On Linux, one of two fields whose names differ in case is lost, except for names that begin with X-")
    func namesInOtherCase() async throws {
      let names = ["Cache-Control", "Vary", "Set-Cookie", "Link", "X-A"]
      server.on("/fields", .respond(headers: names.flatMap { [($0, "a=1"), ($0.lowercased(), "b=2")] }))

      let headers = try await load("/fields").value.headers

      for name in names { expectEqual(headers.values(for: name).count, name == "X-A" ? 2 : 1, "\(name)") }
    }
  #endif

  @Test("A body always has a type, and is a form only if its type says so")
  func contentType() async throws {
    server.on("/post", .respond())
    for body in [HTTPBody.data(Data("a".utf8)), .stream { HTTPBodyReader { _ in Data() } }] {
      var request = try HTTPRequest(.post, server.url("/post"))
      request.body = body
      _ = try await loader.load(request).value
    }
    var request = try HTTPRequest(.post, server.url("/post"))
    try request.setHeader("Content-Type", "text/csv")
    request.body = .data(Data("a".utf8))
    _ = try await loader.load(request).value

    let octets = "application/octet-stream"
    expectEqual(server.requests.map { $0.values(for: "content-type") }, [[octets], [octets], ["text/csv"]])
  }

  @Test("A body of a GET or HEAD request is refused before it is sent", arguments: ["GET", "HEAD", "get", "Head"])
  func bodyOfGet(method: String) async throws {
    var request = try HTTPRequest(try HTTPMethod(method), server.url("/"))
    request.body = .data(Data("a".utf8))

    await expectEqual(loader.load(request).outcome.code, .forbiddenBody)
    expectEqual(server.connectionCount, 0)
  }

  #if canImport(FoundationNetworking)
    @Test("On Linux, a known method is sent in upper case, and another method unchanged")
    func lowerCase() async throws {
      server.on("/post", .respond())
      for method in ["post", "delete", "purge"] {
        _ = try await loader.load(try HTTPRequest(try HTTPMethod(method), server.url("/post"))).value
      }

      expectEqual(server.requests.map(\.method), ["POST", "DELETE", "purge"])
    }

    @Test("A URL with an IPv6 address is refused with its own error on Linux")
    func addresses() async throws {
      for text in ["http://[::1]:\(server.port)/", "https://[2001:db8::1]/a"] {
        let outcome = await loader.load(try HTTPRequest(text)).outcome

        expectEqual(outcome.code, .invalidURL)
        expectEqual(outcome.error?.message.contains("IPv6"), true)
        expectEqual(outcome.error?.message.contains("Percent-encode"), false)
      }
      expectEqual(server.connectionCount, 0)
    }

    /// When this fails, the platform is fixed, and the warning of `URLSessionLoader` can be removed.
    @Test(
      "On Linux, a connection that closes in the head ends the process",
      arguments: ["", "Content-Le", "Content-Length: 2", "X-A: 1\r\n", "Content-Length: 0\r\nX-A: 1\r\n"])
    func closedInHead(fields: String) async {
      await #expect(processExitsWith: .failure) { [fields] in
        let server = try Loopback.server()
        server.on("/cut", [.send("HTTP/1.1 200 OK\r\n" + fields), .close])
        _ = await URLSessionLoader(.patient).load(try HTTPRequest(server.url("/cut"))).outcome
      }
    }

    @Test(
      "A connection that closes in the head is lost if a whole field announces a body",
      arguments: [
        "Content-Length: 2\r\n", "Content-Length: 2\r\nX-A", "X-A: 1\r\nContent-Length: 2\r\nX-A: 1\r\n",
        "Transfer-Encoding: chunked\r\n",
      ])
    func closedAfterLength(fields: String) async throws {
      server.on("/cut", [.send("HTTP/1.1 200 OK\r\n" + fields), .close])

      try await expectEqual(load("/cut").outcome.code, .connectionLost)
    }

    @Test("On Linux, a load that is cancelled while a redirect or a challenge arrives does not end the process")
    func cancelledRedirect() async {
      await #expect(processExitsWith: .success) {
        let server = try Loopback.server()
        server.on("/302", .respond(status: 302, headers: [("Location", "/302")], body: "body"))
        server.on("/401", .respond(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"a\"")], body: "body"))
        let loader = URLSessionLoader(.patient)
        for round in 0..<200 {
          let loads = try ["/302", "/401"].flatMap { path in
            try (0..<10).map { _ in loader.load(try HTTPRequest(server.url(path))) }
          }
          // The others are cancelled in each state of a load.
          for load in loads.prefix(round % 20) { _ = await load.outcome }
          for load in loads { load.cancel() }

          for load in loads {
            if case .failure(let error) = await load.outcome { Issue.record(error) }
          }
        }
        try await loader.reset().value
      }
    }

    @Test("A connection that is reset in the head is lost", arguments: ["", "X-A: 1\r\n", "X-A"])
    func resetInHead(fields: String) async throws {
      server.on("/cut", [.send("HTTP/1.1 200 OK\r\n" + fields), .reset])

      try await expectEqual(load("/cut").outcome.code, .connectionLost)
    }
  #endif

  @Test("A peer without TLS is not a secure connection")
  func noTLS() async throws {
    let request = try HTTPRequest("https://127.0.0.1:\(server.port)/")

    await expectEqual(loader.load(request).outcome.code, .insecureConnection)
  }

  @Test("A reset waits for transfers that were forced to end before")
  func resetWaits() async throws {
    server.on("/stall", .stall)
    let future = try load("/stall")
    _ = await server.waitForRequest(to: "/stall").outcome
    future.cancel(.forceImmediately)

    try await loader.reset().value
    try await loader.reset().value

    expectEqual(loader.liveCount, 0)
    _ = await server.waitForClose(of: "/stall").outcome
  }

  @Test("On Linux, the transport suspends no task, awaits no session, and installs no protocol")
  func sources() throws {
    let folder = Repository.root.appendingPathComponent("Sources/FutureTreeHTTP/URLSession")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    let sources = try files.filter { $0.pathExtension == "swift" }.map { try String(contentsOf: $0, encoding: .utf8) }
      .map { $0.replacing(/#if canImport\(Darwin\)\n[^#]*#endif/, with: "") }
    let forbidden = [
      ".suspend()", "session.data(", "session.upload(", "session.download(", ".bytes(for", "URLProtocol",
      "timeoutInterval = .infinity",
    ]

    #expect(sources.count > 7)
    for word in forbidden { #expect(!sources.contains { $0.contains(word) }, "\(word)") }
    // Tasks are cancelled in one place, on their own queue.
    expectEqual(sources.count { $0.contains("task.cancel()") }, 1)
  }
}

/// The location of this package.
enum Repository {
  static let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
}

@Suite("The article URLSession on Linux") struct URLSessionTrapsArticleTests {
  @Test("The article has each limit of the conformance suite, with its effect")
  func limits() throws {
    let rows = try Guide("URLSessionTraps", of: "FutureTreeHTTP").page().rows
    let subjects = Set(rows.compactMap(\.first))

    for limit in URLSessionLimits.limits {
      guard let name = limit.text.firstMatch(of: /\*.+?\*/) else { continue }
      #expect(subjects.contains(String(name.output)), "\(limit.text)")
    }
    let traps = rows.filter { $0.first?.hasPrefix("*") == true }
    #expect(traps.count >= 14 && traps.allSatisfy { $0.count == 3 })
  }
}
