#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTPTesting
  import FutureTreeTesting
  import HTTPTestSupport
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: activities", .onSockets) struct CurlActivityTests {
    private let server: LoopbackServer

    init() throws {
      server = try Loopback.server()
    }

    /// Returns the activities of the tree of a load.
    private func activities(of load: Future<HTTPResponse>) -> [String] { load.tree().entries.compactMap(\.activity) }

    @Test("A load resolves its host, waits for a connection and for the response, and receives")
    func steps() async throws {
      let (began, ends) = (Promise<Void>(), Promise<Void>())
      var settings = CurlSettings(.patient { $0.maximumConnectionsPerHost = 1 })
      settings.resolve = { name throws(HTTPError) in
        guard name.host == "slow.example" else { return ["127.0.0.1"] }
        began.succeed()
        _ = try? ends.future.wait(for: .seconds(600))
        return ["127.0.0.1"]
      }
      let loader = CurlLoader(settings, .patient, clock: ManualClock())
      let (head, rest) = (LoopbackGate(), LoopbackGate())
      server.on("/", .respond(body: "Hello, world").held(at: 5, by: rest).held(by: head))
      server.on("/next", .respond())
      let part = Promise<Void>()
      var request = try HTTPRequest("http://slow.example:\(server.port)/")
      request[option: ProgressHandler.self] = { if $0.received.completed == 5 { part.succeed() } }
      let log = FutureLog(clock: ManualClock())

      let load = loader.load(request).logged(in: log)
      _ = await began.future.outcome
      expectEqual(activities(of: load), ["resolving the host"])
      ends.succeed()
      _ = try await head.waitForHolders().value
      expectEqual(activities(of: load), ["waiting for the response"])
      let next = loader.load(try HTTPRequest("http://slow.example:\(server.port)/next"))
      let other = loader.load(try HTTPRequest("http://name.example:\(server.port)/next"))
      _ = try await other.value  // The engine has received the commands before.
      expectEqual(activities(of: next), ["waiting for a connection"])
      head.open()
      _ = await part.future.outcome
      expectEqual(activities(of: load), ["receiving 5 of 12 bytes"])
      rest.open()
      _ = try await load.value
      _ = try await next.value

      let texts = log.recording().events.compactMap { event in
        if case .activity(let text) = event.fact { text } else { nil }
      }
      expectEqual(
        texts.filter { $0 != "resolving the host" },  // The log can begin later.
        [
          "waiting for a connection", "connecting", "sending the request", "waiting for the response",
          "receiving 0 of 12 bytes",
        ])
    }

    @Test("The receipt of a cancellation request says what the load was doing")
    func receipt() async throws {
      let loader = CurlLoader(.patient, clock: ManualClock())
      let gate = LoopbackGate()
      server.on("/", .respond().held(by: gate))
      let load = (Retry() --> loader).load(try HTTPRequest(server.url("/")))
      _ = try await gate.waitForHolders().value

      let receipt = load.cancel()

      expectEqual(receipt.activity, "waiting for the response")
      await expectEqual(load.outcome.text, "cancelled")
    }

    @Test("A body that is sent has an amount, with or without a length", arguments: [nil, 300_000])
    func sending(length: Int?) async throws {
      let loader = CurlLoader(.patient, clock: ManualClock())
      let (chunks, source) = AsyncStream.makeStream(of: Data.self)
      let gate = LoopbackGate()
      server.on("/", .respond().held(by: gate))
      let sent = Promise<Void>()
      var request = try HTTPRequest(.post, server.url("/"))
      request.body = .asyncStream(length: length, isReplayable: false) { chunks }
      request[option: ProgressHandler.self] = { if $0.sent.completed == 100_000 { sent.succeed() } }

      let load = loader.load(request)
      source.yield(Data(count: 100_000))
      _ = await sent.future.outcome
      expectEqual(
        activities(of: load),
        [length == nil ? "sending, 100000 bytes until now" : "sending 100000 of 300000 bytes"])
      source.yield(Data(count: 200_000))
      source.finish()
      _ = try await gate.waitForHolders().value
      expectEqual(activities(of: load), ["waiting for the response"])
      gate.open()
      _ = try await load.value
    }

    @Test("A connection over TLS is secured")
    func securing() async throws {
      let gate = LoopbackGate()
      server.onConnect(.send("").held(by: gate))
      // A libcurl of another system looks for its certificates elsewhere, and fails without them.
      let roots = "/etc/ssl/certs/ca-certificates.crt"
      let hasRoots = FileManager.default.fileExists(atPath: roots)
      let loader = CurlLoader(
        .patient { if hasRoots { $0.security.roots = .file(roots) } }, clock: ManualClock())
      let load = loader.load(try HTTPRequest("https://127.0.0.1:\(server.port)/"))
      _ = try await gate.waitForHolders().value
      while !load.isCompleted, activities(of: load) != ["securing the connection"] { await Task.yield() }

      expectEqual(load.cancel().activity, "securing the connection")
      await expectEqual(load.outcome.text, "cancelled")
    }
  }
#endif
