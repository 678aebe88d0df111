import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

/// What `URLSession` on Linux does with redirects by itself (`research`, rows 11 and 12), done right.
@Suite("Redirect over URLSessionLoader", .onSockets, .timeLimit(.minutes(60)))
struct RedirectTransportTests {
  private let server: LoopbackServer
  private let api: any HTTPLoader

  init() throws {
    server = try Loopback.server()
    api = (Redirect() --> URLSessionLoader(.patient))
  }

  private func redirect(_ path: String, _ status: Int, to location: String) {
    server.on(path, .respond(status: status, headers: [("Location", location)], body: "moved"))
  }

  @Test("a body in memory, in a file and in a stream arrives again after 307 and 308, and after 302 on PUT")
  func bodies() async throws {
    let file = try TemporaryFile("file")
    let bodies: [(String, HTTPBody)] = [
      ("data", .data(Data("data".utf8))), ("file", .file(file.url)),
      ("stream", .stream { try HTTPBody.file(file.url).makeReader() }),
    ]
    for (method, status) in [(HTTPMethod.post, 307), (.post, 308), (.put, 302), (.put, 301)] {
      for (name, body) in bodies {
        let (from, to) = ("/\(status)/\(name)", "/to/\(status)/\(name)")
        redirect(from, status, to: to)
        server.on(to, .respond())

        let response = try await api.load(try .sending(method, server.url(from), body: body)).value

        let arrived = server.record.requests(to: to)
        #expect(response.status == .ok && arrived.map(\.method) == [method.name])
        #expect(arrived.map(\.text) == [name == "data" ? "data" : "file"])
      }
    }
  }

  @Test("a 303 leaves HEAD as it is")
  func head() async throws {
    redirect("/a", 303, to: "/b")
    server.on("/b", .respond())

    let response = try await api.load(try .sending(.head, server.url("/a"))).value

    #expect(response.status == .ok && server.record.requests.map(\.method) == ["HEAD", "HEAD"])
  }

  @Test("a 305 and a 300 are answers", arguments: [300, 305])
  func answers(status: Int) async throws {
    redirect("/a", status, to: "/b")

    let response = try await api.load(try HTTPRequest(server.url("/a"))).value

    #expect(response.status.code == status && server.record.requests.count == 1)
  }

  @Test("a relative Location stands in the directory of its request")
  func relative() async throws {
    redirect("/x/y/a", 302, to: "b")
    server.on("/x/y/b", .respond(body: "b"))

    let response = try await api.load(try HTTPRequest(server.url("/x/y/a"))).value

    #expect(try response.body == Data("b".utf8))
  }

  @Test("two different Locations, which the platform joins, are refused")
  func joined() async throws {
    server.on("/a", .respond(status: 302, headers: [("Location", "/b"), ("Location", "/c")]))

    let outcome = await api.load(try HTTPRequest(server.url("/a"))).outcome

    #expect(outcome.code == .invalidRedirect && server.record.requests.count == 1)
  }

  @Test(
    "a Location with bytes beyond ASCII is refused, and without this layer the answer arrives",
    arguments: [301, 302, 303, 307, 308])
  func notASCII(status: Int) async throws {
    redirect("/a", status, to: "/caf\u{E9}")

    let outcome = await api.load(try HTTPRequest(server.url("/a"))).outcome
    let bare = try await URLSessionLoader(.patient).load(try HTTPRequest(server.url("/a"))).value

    #expect(outcome.code == .invalidRedirect && server.record.requests.count == 2)
    #expect(outcome.error?.response?.status.code == status)
    #expect(bare.status.code == status && !bare.headers.contains("Location"))
    #expect(try bare.body == Data("moved".utf8))
  }

  @Test("an answer without a Location and without a body is the answer", arguments: [301, 302, 303, 305, 307, 308])
  func noLocation(status: Int) async throws {
    server.on("/a", .respond(status: status, headers: [("X-A", "1")]))
    server.on("/a", method: "HEAD", [.send("HTTP/1.1 \(status) Moved\r\nContent-Length: 5\r\n\r\n")])

    let response = try await api.load(try HTTPRequest(server.url("/a"))).value
    let head = try await api.load(try .sending(.head, server.url("/a"))).value

    #expect(response.status.code == status && response.headers["X-A"] == "1" && response.bodySize == 0)
    #expect(head.status.code == status && head.headers["Content-Length"] == "5")
  }

  @Test(
    "a Location that no platform reads is refused, whether the answer has a body or not",
    arguments: ["", "http://[::1", "http://[::1]:x/"])
  func unreadable(location: String) async throws {
    redirect("/body", 302, to: location)
    server.on("/none", .respond(status: 302, headers: [("Location", location)]))

    for path in ["/body", "/none"] {
      #expect(await api.load(try HTTPRequest(server.url(path))).outcome.code == .invalidRedirect, "\(path)")
    }
  }

  #if canImport(FoundationNetworking)
    @Test(
      "an answer without a Location, but with a body, is an error: the platform keeps the body, and the documentation says so",
      arguments: ["Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "\r\nok"])
    func bodyWithoutLocation(rest: String) async throws {
      server.on("/a", [.send("HTTP/1.1 302 Found\r\n\(rest)"), .close])

      for loader in [api, URLSessionLoader(.patient)] {
        #expect(await loader.load(try HTTPRequest(server.url("/a"))).outcome.code == .invalidRedirect)
      }
    }
  #endif

  @Test("a circle ends at the limit")
  func circle() async throws {
    redirect("/a", 302, to: "/b")
    redirect("/b", 302, to: "/a")
    server.onOthers(.respond(status: 302, headers: [("Location", "/a")]))

    let outcome = await api.load(try HTTPRequest(server.url("/a"))).outcome

    #expect(outcome.code == .tooManyRedirects && server.record.requests.count == 11)
  }

  @Test("only the last answer is put into a file, and none that is no success")
  func file() async throws {
    let folder = try Folder()
    redirect("/a", 302, to: "/b")
    redirect("/c", 302, to: "/missing")
    server.on("/b", .respond(body: "there"))
    server.on("/missing", .respond(status: 404, body: "not here"))

    var texts: [String] = []
    for path in ["/a", "/c"] {
      var request = try HTTPRequest(server.url(path))
      request[option: ResponseDelivery.self] = .file(folder.file(String(path.dropFirst())), maximumSize: nil)
      texts.append(try await api.load(request).value.content.description)
    }

    #expect(texts == ["5 bytes in a file", "8 bytes"])
    #expect(folder.names == ["a"] && folder.text(of: "a") == "there")
  }

  @Test("what is told of the progress never becomes less")
  func progress() async throws {
    let told = Locked<[HTTPProgress]>([])
    redirect("/a", 307, to: "/b")
    server.on("/b", .respond(body: String(repeating: "x", count: 300_000)))
    var request = try HTTPRequest.sending(.post, server.url("/a"), body: .data(Data(count: 200_000)))
    request[option: ProgressHandler.self] = { progress in told.withLock { $0.append(progress) } }

    _ = try await api.load(request).value

    let (sent, received) = (told.value.map(\.sent.completed), told.value.map(\.received.completed))
    #expect(sent == sent.sorted() && received == received.sorted())
    #expect(sent.last == 200_000 && received.last == 300_000)
  }

  @Test("a request to cancel on the way stops the request under way, and nothing else is sent")
  func cancelled() async throws {
    let gate = LoopbackGate()
    redirect("/a", 302, to: "/b")
    server.on("/b", .respond().held(by: gate))

    let load = api.load(try HTTPRequest(server.url("/a")))
    _ = try await server.waitForRequest(to: "/b").value
    load.cancel()

    #expect(await load.outcome.text == "cancelled" && server.record.requests.count == 2)
  }
}
