import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Redirects that `URLSession` on Linux handles incorrectly: it sends credentials to other hosts, and loses bodies.
@Suite("Redirect over URLSessionLoader", .onSockets, .timeLimit(.minutes(20)))
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

  @Test("A body in memory, in a file or in a stream is sent again after 307 and 308, and after 301 and 302 for PUT")
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
        expectEqual(response.status, .ok)
        expectEqual(arrived.map(\.method), [method.name])
        expectEqual(arrived.map(\.text), [name == "data" ? "data" : "file"])
      }
    }
  }

  @Test("A 303 keeps the method HEAD")
  func head() async throws {
    redirect("/a", 303, to: "/b")
    server.on("/b", .respond())

    let response = try await api.load(try .sending(.head, server.url("/a"))).value

    expectEqual(response.status, .ok)
    expectEqual(server.record.requests.map(\.method), ["HEAD", "HEAD"])
  }

  @Test("A response with 300 or 305 is not followed", arguments: [300, 305])
  func answers(status: Int) async throws {
    redirect("/a", status, to: "/b")

    let response = try await api.load(try HTTPRequest(server.url("/a"))).value

    expectEqual(response.status.code, status)
    expectEqual(server.record.requests.count, 1)
  }

  @Test("A relative `Location` is resolved in the directory of its request")
  func relative() async throws {
    redirect("/x/y/a", 302, to: "b")
    server.on("/x/y/b", .respond(body: "b"))

    let response = try await api.load(try HTTPRequest(server.url("/x/y/a"))).value

    try expectEqual(response.body, Data("b".utf8))
  }

  @Test("Two different `Location` fields, which the platform joins, are refused")
  func joined() async throws {
    server.on("/a", .respond(status: 302, headers: [("Location", "/b"), ("Location", "/c")]))

    let outcome = await api.load(try HTTPRequest(server.url("/a"))).outcome

    expectEqual(outcome.code, .invalidRedirect)
    expectEqual(server.record.requests.count, 1)
  }

  @Test(
    "A `Location` beyond ASCII is percent-encoded and followed, and without this layer the response arrives",
    arguments: [301, 302, 303, 307, 308])
  func notASCII(status: Int) async throws {
    redirect("/a", status, to: "/caf\u{E9}")
    server.on("/caf%C3%A9", .text("here"))

    let response = try await api.load(try HTTPRequest(server.url("/a"))).value
    let bare = try await URLSessionLoader(.patient).load(try HTTPRequest(server.url("/a"))).value

    #expect(try response.body == Data("here".utf8) && server.record.requests.count == 3)
    expectEqual(bare.status.code, status)
    expectEqual(bare.headers["Location"], "/caf\u{E9}")
    try expectEqual(bare.body, Data("moved".utf8))
  }

  @Test(
    "A redirect without a `Location` and without a body is the response", arguments: [301, 302, 303, 305, 307, 308])
  func noLocation(status: Int) async throws {
    server.on("/a", .respond(status: status, headers: [("X-A", "1")]))
    server.on("/a", method: "HEAD", [.send("HTTP/1.1 \(status) Moved\r\nContent-Length: 5\r\n\r\n")])

    let response = try await api.load(try HTTPRequest(server.url("/a"))).value
    let head = try await api.load(try .sending(.head, server.url("/a"))).value

    expectEqual(response.status.code, status)
    expectEqual(response.headers["X-A"], "1")
    expectEqual(response.bodySize, 0)
    expectEqual(head.status.code, status)
    expectEqual(head.headers["Content-Length"], "5")
  }

  @Test(
    "An unreadable `Location` is refused, with and without a body",
    arguments: ["", "http://[::1", "http://[::1]:x/"])
  func unreadable(location: String) async throws {
    redirect("/body", 302, to: location)
    server.on("/none", .respond(status: 302, headers: [("Location", location)]))

    for path in ["/body", "/none"] {
      await expectEqual(api.load(try HTTPRequest(server.url(path))).outcome.code, .invalidRedirect, "\(path)")
    }
  }

  #if canImport(FoundationNetworking)
    @Test(
      "On Linux, a redirect with a body but without a `Location` is an error",
      arguments: ["Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "\r\nok"])
    func bodyWithoutLocation(rest: String) async throws {
      server.on("/a", [.send("HTTP/1.1 302 Found\r\n\(rest)"), .close])

      for loader in [api, URLSessionLoader(.patient)] {
        await expectEqual(loader.load(try HTTPRequest(server.url("/a"))).outcome.code, .invalidRedirect)
      }
    }
  #endif

  @Test("A redirect circle ends at the limit")
  func circle() async throws {
    redirect("/a", 302, to: "/b")
    redirect("/b", 302, to: "/a")
    server.onOthers(.respond(status: 302, headers: [("Location", "/a")]))

    let outcome = await api.load(try HTTPRequest(server.url("/a"))).outcome

    expectEqual(outcome.code, .tooManyRedirects)
    expectEqual(server.record.requests.count, 11)
  }

  @Test("Only the last response is written to a file, and only if it is successful")
  func file() async throws {
    let folder = try Folder()
    redirect("/a", 302, to: "/b")
    redirect("/c", 302, to: "/missing")
    server.on("/b", .respond(body: "there"))
    server.on("/missing", .respond(status: 404, body: "not here"))

    var texts: [String] = []
    for path in ["/a", "/c"] {
      var request = try HTTPRequest(server.url(path))
      request.delivery = .file(folder.file(String(path.dropFirst())), maximumSize: nil)
      texts.append(try await api.load(request).value.content.description)
    }

    expectEqual(texts, ["5 bytes in a file", "8 bytes"])
    expectEqual(folder.names, ["a"])
    expectEqual(folder.text(of: "a"), "there")
  }

  @Test("Progress over several requests never decreases")
  func progress() async throws {
    let reports = Locked<[HTTPProgress]>([])
    redirect("/a", 307, to: "/b")
    server.on("/b", .respond(body: String(repeating: "x", count: 300_000)))
    var request = try HTTPRequest.sending(.post, server.url("/a"), body: .data(Data(count: 200_000)))
    request.progress = { progress in reports.withLock { $0.append(progress) } }

    _ = try await api.load(request).value

    let (sent, received) = (reports.value.map(\.sent.completed), reports.value.map(\.received.completed))
    expectEqual(sent, sent.sorted())
    expectEqual(received, received.sorted())
    expectEqual(sent.last, 200_000)
    expectEqual(received.last, 300_000)
  }

  @Test("A cancellation request after a redirect stops the request in flight, and nothing else is sent")
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
