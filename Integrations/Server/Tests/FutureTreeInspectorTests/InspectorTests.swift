import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import ServerTestSupport
import Testing

@testable import FutureTreeInspector

@Suite("Inspector") struct InspectorTests {
  private let promise = Promise<Int>()
  private let asked = Promise<String>()

  /// Serves an inspector while `body` runs.
  private func serve(
    allowsCancellation: Bool = true, _ body: (Inspector, Site) async throws -> Void
  ) async throws {
    let inspector = Inspector(allowsCancellation: allowsCancellation, interval: .milliseconds(10), clock: ManualClock())
    let running = Promise<String>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try? await inspector.serve { running.succeed($0) } }
      defer { group.cancelAll() }
      try await body(inspector, Site(await running.future.value))
    }
  }

  /// The address of a page.
  private struct Site {
    let port: Int
    let path: String

    init(_ address: String) throws {
      let parts = address.split(separator: "/")
      port = Int(parts[1].split(separator: ":")[1])!
      path = "/\(parts[2])/"
    }

    func client(
      _ path: String, method: String = "GET", host: String? = nil, _ fields: [String] = []
    ) async throws -> RawClient {
      let client = try await RawClient.connect(to: RawClient.Address(port: port))
      let head = ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")", "Content-Length: 0"] + fields
      try await client.send(head.map { $0 + "\r\n" }.joined() + "\r\n")
      return client
    }

    /// Sends a request, and returns the response.
    func response(
      _ path: String, method: String = "GET", host: String? = nil, _ fields: String...
    ) async throws -> String {
      try await client(path, method: method, host: host, ["Connection: close"] + fields).receiveAll()
    }
  }

  @Test("The page needs the token, the host of the server, and no other origin")
  func access() async throws {
    try await serve { _, site in
      let page = try await site.response(site.path)
      #expect(page.hasPrefix("HTTP/1.1 200 OK") && page.contains("<title>Futures</title>"))
      for field in ["no-store", "nosniff", "no-referrer", "DENY", "default-src 'none'"] {
        #expect(page.contains(field), "\(field)")
      }
      #expect(try await site.response(site.path, host: "localhost:\(site.port)").hasPrefix("HTTP/1.1 200"))
      for path in [
        "/", "/0123456789abcdef0123456789abcdef/", site.path.dropLast(2) + "/", "/events", "/../\(site.path)",
      ] {
        #expect(try await site.response(path).hasPrefix("HTTP/1.1 404"), "\(path)")
      }
      for host in [
        "evil.example", "evil.example:\(site.port)", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:\(site.port)",
      ] {
        #expect(try await site.response(site.path, host: host).hasPrefix("HTTP/1.1 421"), "\(host)")
      }
      for field in [
        "Origin: http://evil.example", "Origin: null", "Origin: http://localhost:\(site.port)",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
      ] {
        #expect(try await site.response(site.path, field).hasPrefix("HTTP/1.1 403"), "\(field)")
      }
    }
  }

  @Test(
    "A future is cancelled with a reason, by its own page only, and only if that is allowed", arguments: [true, false])
  func cancellation(isAllowed: Bool) async throws {
    promise.onRequestCancel { [asked] request in
      asked.succeed(request.reason.message)
      return .complete(.cancelled)
    }
    let page = promise.future.map { $0 }.named("page")
    try await serve(allowsCancellation: isAllowed) { inspector, site in
      inspector.add(page)
      #expect(inspector.forest.snapshot().members.map(\.number) == [1, 2])
      let preview = try await site.response(site.path + "futures/1/preview")
      #expect(preview.hasSuffix("delivered to 1 handler, reached 2 futures") && !page.isCompleted)
      let gone = try await site.response(site.path + "futures/9/preview")
      #expect(gone.hasPrefix("HTTP/1.1 200") && gone.hasSuffix("not pending"))
      #expect(try await site.response(site.path + "futures/9/tree").hasPrefix("HTTP/1.1 404"))
      #expect(try await site.response(site.path + "futures/1/preview?options=all").hasPrefix("HTTP/1.1 400"))
      #expect(try await site.response(site.path + "futures/1/tree").contains("<h1>page</h1>"))

      let cancel = site.path + "futures/1/cancel?reason=too%20slow"
      #expect(try await site.response(cancel, method: "POST").hasPrefix("HTTP/1.1 403"))
      #expect(try await site.response(cancel, method: "POST", "Origin: http://evil.example").hasPrefix("HTTP/1.1 403"))
      #expect(try await site.response(cancel).hasPrefix("HTTP/1.1 4") && !page.isCompleted)
      let answer = try await site.response(cancel, method: "POST", "Origin: http://127.0.0.1:\(site.port)")
      #expect(answer.hasPrefix(isAllowed ? "HTTP/1.1 200" : "HTTP/1.1 403") && page.isCompleted == isAllowed)
      if isAllowed { #expect(try await asked.future.value == "too slow") }
    }
  }

  @Test("The events have the futures that have changed, and those that are gone")
  func events() async throws {
    let throttle = Throttle(1)
    let mock = MockLoader()
    mock.onOthers(.hold())
    let loads = try ["/a", "/b"].map { path in
      (throttle --> mock).load(try FutureTreeHTTP.HTTPRequest("http://shop.example\(path)"))
    }
    let page = promise.future.map { $0 }.named("page \"1\"\n")
    try await serve { inspector, site in
      inspector.add(page)
      inspector.add(throttle, named: "API")
      let client = try await site.client(site.path + "events")
      let head = try await client.receive(through: "data: ")
      #expect(head.contains("text/event-stream"))
      let first = try await client.receive(through: "\n\n")
      #expect(first.contains(#"[1,"page \"1\"\u000a","pending",0,"#) && first.contains(#""gone":[]"#))
      #expect(first.contains(#""throttles":[["API",1,1,1,["GET http://shop.example/b"]]]"#))

      page.cancel(.doNotForwardRequest)
      let next = try await client.receive(through: #""gone":[1,2]"#)
      #expect(!next.contains("throttles"))
      try await client.close()
    }
    withExtendedLifetime(loads) {}
  }

  @Test("An update has only what has changed")
  func frames() throws {
    let forest = FutureForest(clock: ManualClock())
    let (load, other) = (promise.future.named("load").shared(), Promise<Int>())
    let page = load.map { $0 }.named("page")
    forest.add(load)
    forest.add(other.future)
    var frames = InspectorFrames()
    func next() -> String { frames.next(forest.snapshot(), [], now: .zero) }

    #expect(next().contains(#"[1,"load","pending, shared",1,0,null,null,[3],[]],[2,"promise""#))
    #expect(next() == #"{"now":0,"rows":[],"gone":[]}"#)
    load.map { $0 }.cancel(reason: CancellationReason("closed", fileID: "App", line: 1))
    #expect(
      next() == #"{"now":0,"rows":[[1,"load","pending, shared",1,0,null,"closed (App:1)",[3],[]]],"gone":[]}"#)
    promise.succeed(1)
    #expect(next() == #"{"now":0,"rows":[],"gone":[1,3]}"#)
    withExtendedLifetime((page, other)) {}
  }

  @Test(
    "An update is JSON on one line, whatever the names and reasons are",
    arguments: [
      "a\"b\\", "line\nbreak\r\n\r\ndata: x", "</script><script>", "\u{0}\u{1B}[31m", "\u{202E}\u{2028}", "e\u{301}👩‍👩‍👧",
      "",
      String(repeating: "x", count: 10_240),
    ])
  func hostile(name: String) throws {
    let forest = FutureForest()
    let promise = Promise<Int>()
    let load = promise.future.named(name)
    let page = load.map { $0 }
    load.map { $0 }.cancel(.doNotForwardIfOthersWaiting, reason: CancellationReason(name, fileID: name, line: 1))
    forest.add(load)
    var frames = InspectorFrames()

    let frame = frames.next(forest.snapshot(), [(name: name, throttle: Throttle(1))], now: .zero)

    let update = try #require(JSONSerialization.jsonObject(with: Data(frame.utf8)) as? [String: Any])
    let row = try #require((update["rows"] as? [[Any]])?.first)
    let shown = String(String.UnicodeScalarView(name.unicodeScalars.prefix(1000)))
    #expect(row[1] as? String == shown && (update["throttles"] as? [[Any]])?[0][0] as? String == shown)
    #expect((row[6] as? String)?.hasPrefix(shown) == true && !frame.contains("\n"))
    withExtendedLifetime((page, promise)) {}
  }

  @Test("Random names of futures, throttles and reasons are read as they were")
  func randomNames() throws {
    let pieces = [
      "\"", "\\", "\n", "\r", "</script>", "\u{0}", "\u{7F}", "\u{85}", "\u{2028}", "\u{202E}", "e\u{301}", "👩‍👩‍👧",
      "\\u0041", "a", " ",
    ]
    let random = RandomSource.seeded(20_783)
    for _ in 0..<2_000 {
      let text = (0..<(random.next() % 12)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
      try hostile(name: text)
    }
  }

  #if os(Linux)
    @Test("The server listens on the loopback address only")
    func loopback() async throws {
      try await serve { _, site in
        // On Linux, 127.0.0.2 leads to this machine, and to each server that listens on all addresses.
        await #expect(throws: (any Error).self) {
          try await RawClient.connect(to: RawClient.Address(host: "127.0.0.2", port: site.port))
        }
      }
    }
  #endif

  @Test("A port in use is an error")
  func portInUse() async throws {
    try await serve { _, site in
      await #expect(throws: (any Error).self) {
        try await Inspector().serve(port: site.port) { _ in }
      }
    }
  }
}
