import HTTPTestSupport
import TestSupport

#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTPTesting
  import HTTPTestSupport
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  /// In a process of its own, because a fault in the code around libcurl ends its process.
  @Suite("CurlLoader: hostile peers", .onSockets, .timeLimit(.minutes(20))) struct HostilePeerTests {
    @Test("No bytes of a peer and no moment of a cancellation end the process, and each load completes")
    func exchanges() async {
      await #expect(processExitsWith: .success) {
        fillFreedMemory()
        let server = try Loopback.server()
        server.onOthers { HostilePeer(answering: $0.path, mayStall: false).answer }
        // A server of its own, because a connection on which it stalls after a whole response is used again.
        let stalling = try Loopback.server()
        stalling.onOthers { HostilePeer(answering: $0.path, mayStall: true).answer }
        let loader = CurlLoader(.patient)
        let api = Redirect(limit: 3) --> loader
        let count = LongTest.count(100_000, small: 2_000)

        await withTaskGroup(of: Void.self) { group in
          for lane in 0..<32 {
            group.addTask {
              for number in stride(from: lane, to: count, by: 32) {
                let isCancelled = !number.isMultiple(of: 3)
                await exchange(number, with: isCancelled ? stalling : server, over: api, isCancelled: isCancelled)
              }
            }
          }
        }

        try await loader.reset().value
        expectEqual(loader.liveCount, 0)
        server.on("/next", .respond(body: "next"))
        try await expectEqual(loader.load(try HTTPRequest(server.url("/next"))).value.body, Data("next".utf8))
      }
    }

    @Test("A head that begins with the continuation of a field is refused, also after a response with fields")
    func continuation() async {
      await #expect(processExitsWith: .success) {
        fillFreedMemory()
        let server = try Loopback.server()
        // So many that the last one is not in a cache of freed memory, which glibc does not fill.
        let fields = String(repeating: "X-Field: \(String(repeating: "a", count: 300))\r\n", count: 20)
        server.on("/fields", .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"))
        server.on("/continuation", [.send("HTTP/1.1 200 OK\r\n continued: b\r\nContent-Length: 0\r\n\r\n"), .close])
        let loader = CurlLoader(.patient)

        for path in ["/fields", "/continuation", "/fields", "/continuation"] {
          let outcome = await loader.load(try HTTPRequest(server.url(path))).outcome
          #expect(path == "/fields" ? (try? outcome.get()) != nil : outcome.text == "invalidResponse")
        }
      }
    }
  }

  /// Makes a use of freed memory end the process: glibc fills what is freed, so that its pointers are none.
  private func fillFreedMemory() {
    typealias Mallopt = @convention(c) (Int32, Int32) -> Int32
    guard let symbol = dlsym(nil, "mallopt") else { return }
    let perturb: Int32 = -6  // M_PERTURB of <malloc.h>, which has no module.
    _ = unsafeBitCast(symbol, to: Mallopt.self)(perturb, 0x5A)
  }

  /// Loads once, and may cancel the load at a random moment.
  private func exchange(
    _ number: Int, with server: LoopbackServer, over api: any HTTPLoader, isCancelled: Bool
  ) async {
    var random = RandomSource.seeded(UInt64(number) << 32 | 1)
    var request = try! HTTPRequest([.get, .head, .put].randomElement(using: &random)!, server.url("/\(number)"))
    if request.method == .put { request.body = .data(Data(count: Int.random(in: 0..<200_000, using: &random))) }
    let isStream = Bool.random(using: &random)
    if isStream { request.delivery = .stream(bufferLimit: 4096) }

    let load = api.load(request)
    if isCancelled {
      for _ in 0..<Int.random(in: 0..<2_000, using: &random) { await Task.yield() }
      load.cancel(Bool.random(using: &random) ? .forceImmediately : [])
    }
    guard case .success(let response) = await load.outcome, isStream else { return }
    let isLeft = Bool.random(using: &random)
    if isCancelled { response.transfer.cancel() }
    do { for try await _ in response.bodyStream where isLeft { break } } catch {}
  }

  /// A peer whose answer is a response with random faults, derived from the path of the request.
  private struct HostilePeer {
    private static let bodies = ["0123456789", "a\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n", ""]
    private static let heads = [
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /0\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: br, zstd\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 11\r\nX-Latin: \u{E9}\r\n\r\n", "HTTP/2 200\r\n\r\n",
      "HTTP/1.1 200 OK\r\n a: b\r\nContent-Length: 10\r\n\r\n",
    ]

    private var random: RandomSource
    private let mayStall: Bool

    init(answering path: String, mayStall: Bool) {
      random = .seeded(path.utf8.reduce(7) { ($0 &* 31) &+ UInt64($1) })
      self.mayStall = mayStall
    }

    var answer: LoopbackAnswer {
      var random = random
      var bytes = Array(
        (HostilePeer.heads.randomElement(using: &random)! + HostilePeer.bodies.randomElement(using: &random)!).utf8)
      if Bool.random(using: &random) { bytes.removeSubrange(Int.random(in: 0..<bytes.count, using: &random)...) }
      for _ in 0..<Int.random(in: 0..<3, using: &random) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
      }
      let half = Int.random(in: 0...bytes.count, using: &random)
      let ends: [LoopbackStep] = mayStall ? [.close, .reset, .stall] : [.close, .reset]
      return [
        .send(Array(bytes[..<half])), .send(Array(bytes[half...])), ends.randomElement(using: &random)!,
      ]
    }
  }
#endif
