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
        let server = try Loopback.server()
        server.onOthers { HostilePeer(answering: $0.path).answer }
        let loader = CurlLoader(.patient)
        let api = Redirect(limit: 3) --> loader
        let count = LongTest.count(10_000, small: 600)

        await withTaskGroup(of: Void.self) { group in
          for lane in 0..<32 {
            group.addTask {
              for number in stride(from: lane, to: count, by: 32) { await exchange(number, with: server, over: api) }
            }
          }
        }

        try await loader.reset().value
        #expect(loader.liveCount == 0)
        server.on("/next", .respond(body: "next"))
        #expect(try await loader.load(try HTTPRequest(server.url("/next"))).value.body == Data("next".utf8))
      }
    }
  }

  /// Loads once, and cancels most of the loads at a random moment: a peer can leave a load without an end.
  private func exchange(_ number: Int, with server: LoopbackServer, over api: any HTTPLoader) async {
    var random = RandomSource.seeded(UInt64(number) << 32 | 1)
    let isCancelled = Int.random(in: 0..<3, using: &random) > 0
    var request = try! HTTPRequest(
      [.get, .head, .put].randomElement(using: &random)!, server.url("/\(number)/\(isCancelled)"))
    if request.method == .put { request.body = .data(Data(count: Int.random(in: 0..<200_000, using: &random))) }
    let isStream = Bool.random(using: &random)
    if isStream { request[option: ResponseDelivery.self] = .stream(bufferLimit: 4096) }

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
      "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /next/false\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: br, zstd\r\nContent-Length: 10\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 11\r\nX-Latin: \u{E9}\r\n\r\n", "HTTP/2 200\r\n\r\n",
    ]

    private var random: RandomSource
    private let mayStall: Bool

    init(answering path: String) {
      random = .seeded(path.utf8.reduce(7) { ($0 &* 31) &+ UInt64($1) })
      mayStall = path.hasSuffix("/true")
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
