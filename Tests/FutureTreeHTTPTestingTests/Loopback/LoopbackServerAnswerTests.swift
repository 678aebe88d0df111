import FutureTree
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("LoopbackServer: responses", .onSockets, .timeLimit(.minutes(20))) struct LoopbackServerAnswerTests {
  let server: LoopbackServer
  let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  @Test("A response has the status and headers of its route, and its Content-Length")
  func json() {
    server.on("/users/1", .json(#"{"name": "Ãda"}"#, status: 201, headers: [("X-A", "b")]))

    client.get("/users/1")

    expectEqual(
      client.response(),
      "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-A: b\r\n"
        + "Content-Length: 16\r\n\r\n{\"name\": \"Ãda\"}")
  }

  @Test("The URL names the address, the port and the path")
  func url() {
    #expect(server.url("/a?b") == "http://127.0.0.1:\(server.port)/a?b")
  }

  @Test("An unknown path gets the status 404")
  func unknown() {
    client.get("/unknown")

    expectEqual(client.response()?.hasPrefix("HTTP/1.1 404 Not Found\r\n"), true)
  }

  @Test("onOthers(_:) sets the response for unknown paths")
  func others() {
    server.onOthers { .text("no \($0.path)") }

    client.get("/x?y")

    expectEqual(client.response()?.hasSuffix("\r\n\r\nno /x"), true)
  }

  @Test("Responses are sent in order, and the last one repeats")
  func inTurn() {
    server.on("/flaky", .status(503), .status(429), .text("yes"))

    let statuses = (0..<4).map { _ in
      client.get("/flaky")
      return client.response()?.prefix(12)
    }

    expectEqual(statuses, ["HTTP/1.1 503", "HTTP/1.1 429", "HTTP/1.1 200", "HTTP/1.1 200"])
  }

  @Test("A route with a method precedes one without, and a target precedes a path")
  func precedence() {
    server.on("/a", .text("any"))
    server.on("/a", method: "POST", .text("post"))
    server.on("/a?page=2", .text("second page"))

    let texts = [("GET", "/a"), ("POST", "/a"), ("GET", "/a?page=2"), ("PUT", "/a?page=3")].map { method, target in
      client.get(target, method: method)
      return client.response()?.split(separator: "\r\n").last
    }

    expectEqual(texts, ["any", "post", "second page", "any"])
  }

  @Test("A route of a host precedes a route of any host")
  func hosts() {
    server.on("/a", method: "GET", .text("any"))
    server.on("//api.example/a", .text("api"))
    server.on("//[::1]/a?b", .text("address"))

    let texts = ["API.example:81", "api.example", "[::1]:81", "other.example", "api.example.", ""].map { host in
      client.send("GET /a?b HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      return client.response()?.split(separator: "\r\n").last
    }

    expectEqual(texts, ["api", "api", "address", "any", "any", "any"])
  }

  @Test("A route can be replaced while the server runs")
  func replaced() {
    server.on("/a", .text("old"))
    client.get("/a")
    let old = client.response()

    server.on("/a", .text("new"))
    client.get("/a")

    expectEqual(old?.hasSuffix("old"), true)
    expectEqual(client.response()?.hasSuffix("new"), true)
  }

  @Test("A handler receives the request and can call the server")
  func handler() {
    server.on("/echo") { [weak server] request in
      server?.on("/more", .text("more"))
      return .respond(status: (server?.requestCount ?? 0) == 1 ? 200 : 500, body: request.body)
    }

    client.send("POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")

    expectEqual(client.response()?.hasSuffix("\r\n\r\nhello"), true)
  }

  @Test("A response to HEAD has a length without a body; 204 and 304 have neither")
  func withoutBody() {
    server.on("/a", .text("hello"))
    server.on("/204", .respond(status: 204, body: "hello"))
    server.on("/304", .respond(status: 304, body: "hello"))

    client.get("/a", method: "HEAD")
    let head = client.response(hasBody: false)
    client.get("/204")
    let none = client.response(hasBody: false)
    client.get("/304")
    let unchanged = client.response(hasBody: false)

    expectEqual(head?.hasSuffix("Content-Length: 5\r\n\r\n"), true)
    expectEqual(none, "HTTP/1.1 204 No Content\r\n\r\n")
    expectEqual(unchanged, "HTTP/1.1 304 Not Modified\r\n\r\n")
  }

  @Test("Given framing headers are not duplicated")
  func ownFraming() {
    server.on("/a", .respond(headers: [("content-length", "2")], body: "hello"), .status(200))

    client.get("/a")

    expectEqual(client.response(), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhe")
  }

  @Test("A connection is reused for the next request")
  func keptAlive() {
    for _ in 0..<3 {
      client.get("/a")
      _ = client.response()
    }

    expectEqual(server.connectionCount, 1)
    expectEqual(server.connections[0].paths, ["/a", "/a", "/a"])
    expectEqual(server.requests.map(\.sequence), [1, 2, 3])
    expectEqual(server.connections[0].state, .open)
  }

  @Test(
    "A connection is closed after the response if the request says so",
    arguments: ["GET /a HTTP/1.1\r\nConnection: foo, Close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"])
  func closed(_ request: String) {
    server.on("/a", .text("bye"))

    client.send(request)
    let (text, end) = client.readToEnd()

    #expect(text.contains("\r\nConnection: close\r\n") && text.hasSuffix("bye"))
    expectEqual(end, .finished)
    expectEqual(server.connections[0].state, .closedByServer)
  }

  @Test("A connection is closed after the response if the response says so")
  func closedByAnswer() {
    server.on("/a", .respond(headers: [("Connection", "close")], body: "bye"))

    client.get("/a")

    #expect(client.readToEnd() == ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye", .finished))
  }

  @Test("Pipelined requests are answered in order")
  func pipelined() async throws {
    let gate = LoopbackGate()
    server.on("/1", .text("one").held(by: gate))
    server.on("/2", .text("two"))

    client.send("GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /3 HTTP/1.1\r\n\r\n")
    _ = try await server.waitForRequest(to: "/3").value
    gate.open()
    let responses = (0..<3).map { _ in client.response()?.suffix(3) }

    expectEqual(responses, ["one", "two", "0\r\n\r\n"])
  }

  @Test("A request is recorded unchanged")
  func recorded() throws {
    let text = "POST /a?b=c HTTP/1.1\r\nHost: h\r\nX-B:  1\r\nx-b: 2\r\nContent-Length: 4\r\n\r\n"

    client.send(text + "\0\u{1}ab")
    _ = client.response()

    let request = try #require(server.requests.first)
    expectEqual(request.method, "POST")
    expectEqual(request.target, "/a?b=c")
    expectEqual(request.path, "/a")
    expectEqual(request.head, Array(text.utf8))
    expectEqual(request.headers.map(\.name), ["Host", "X-B", "x-b", "Content-Length"])
    expectEqual(request.values(for: "X-b"), ["1", "2"])
    expectEqual(request.body, [0, 1, 0x61, 0x62])
    #expect(request.isComplete)
    expectEqual(request.connection, 1)
    expectEqual(request.sequence, 1)
    expectEqual(request.arrival, 1)
  }

  @Test("A chunked body is recorded without its chunks")
  func chunked() {
    client.send("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n")
    _ = client.response()

    expectEqual(server.requests[0].text, "hello!")
    expectEqual(server.requests[0].trailers, server.requests[0].trailers.filter { $0.name == "T" && $0.value == "1" })
  }

  @Test("The server sends 100 Continue to a client that expects it")
  func continued() {
    server.on("/a", .text("thanks"))

    client.send("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    let invitation = client.read(until: "\r\n\r\n")
    client.send("ok")

    expectEqual(invitation, "HTTP/1.1 100 Continue\r\n\r\n")
    expectEqual(client.response()?.hasSuffix("thanks"), true)
    expectEqual(server.requests[0].text, "ok")
  }

  @Test("The server receives headers of nearly 1 MiB and a body of 8 MiB")
  func large() {
    let field = String(repeating: "a", count: 1_000_000)
    let body = [UInt8](repeating: 7, count: 8 << 20)
    server.on("/a") { .text("\($0.body.count)") }

    client.send("PUT /a HTTP/1.1\r\nX: \(field)\r\nContent-Length: \(body.count)\r\n\r\n")
    client.send(body)

    expectEqual(client.response()?.hasSuffix("\r\n8388608"), true)
    expectEqual(server.requests[0].values(for: "x")[0].utf8.count, 1_000_000)
    expectEqual(server.requests[0].body, body)
  }

  @Test("A client that reads late receives a response of 32 MiB")
  func largeResponse() async throws {
    let body = [UInt8](repeating: 7, count: 32 << 20)
    server.on("/a", .respond(body: body))

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    _ = client.read(until: "\r\n\r\n")

    let isWhole = client.read(body.count) == body
    #expect(isWhole)
    client.get("/b")
    expectEqual(client.response()?.contains("404"), true)
  }

  @Test("A malformed request is recorded, and its connection is closed after a 400")
  func malformed() throws {
    client.get("/a")
    _ = client.response()
    client.send("GET /b HTTP/1.1\r\nno colon\r\n\r\n")
    let (text, end) = client.readToEnd()

    #expect(text.hasPrefix("HTTP/1.1 400 "))
    expectEqual(end, .finished)
    let request = try #require(server.record.malformedRequests.first)
    expectEqual(request.progress, .malformed("a header line has no colon"))
    expectEqual(request.target, "/b")
    expectEqual(request.arrival, 2)
    expectEqual(String(decoding: request.head, as: UTF8.self), "GET /b HTTP/1.1\r\nno colon\r\n\r\n")
  }

  @Test("A body with invalid framing makes its request malformed")
  func malformedBody() {
    client.send("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokZZ")

    #expect(client.readToEnd().text.hasPrefix("HTTP/1.1 400 "))
    expectEqual(server.requestCount, 1)
    expectEqual(server.requests[0].progress, .malformed("a chunk that is longer than its declared size"))
    expectEqual(server.requests[0].text, "ok")
  }
}
