import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Coalesce on the wire and on many threads", .onSockets)
struct CoalesceLoopbackTests {
  @Test(
    "Some callers cancel: the server sees one request and no abort, and the others get the response",
    .timeLimit(.minutes(20)))
  func someDetach() async throws {
    let (server, coalesce, gate) = (try Loopback.server(), Coalesce(), LoopbackGate())
    let api = coalesce --> SystemLoader(.patient)
    server.on("/shared", .text("answer").held(by: gate))
    let loads = try (0..<5).map { _ in api.load(try HTTPRequest(server.url("/shared"))) }
    _ = try await gate.waitForHolders().value

    for load in loads.prefix(3) { load.cancel() }
    for load in loads.prefix(3) { await expectEqual(load.outcome.text, "cancelled") }
    gate.open()
    for load in loads.suffix(2) { try await expectEqual(load.value.body, Data("answer".utf8)) }

    expectEqual(server.record.requestCount(to: "/shared"), 1)
    expectEqual(server.record.abandonedPaths, [])
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("All callers cancel: the server sees one request and one abort", .timeLimit(.minutes(20)))
  func allDetach() async throws {
    let (server, coalesce, gate) = (try Loopback.server(), Coalesce(), LoopbackGate())
    let api = coalesce --> SystemLoader(.patient)
    server.on("/shared", .text("answer").held(by: gate))
    let loads = try (0..<5).map { _ in api.load(try HTTPRequest(server.url("/shared"))) }
    _ = try await gate.waitForHolders().value

    for load in loads { load.cancel() }
    for load in loads { await expectEqual(load.outcome.text, "cancelled") }
    let record = try await server.waitForClose(of: "/shared").value

    expectEqual(record.requestCount(to: "/shared"), 1)
    expectEqual(record.abandonedPaths, ["/shared"])
    expectEqual(coalesce.flightCount, 0)
  }

  @Test(
    "Four threads join and detach: the other callers get a response, and nothing is retained", .timeLimit(.minutes(20)))
  func threads() async {
    let (mock, coalesce) = (MockLoader(), Coalesce())
    let api = coalesce --> ModifyRequest(asking: { Future<Void>(on: .global()) {} }) --> mock
    mock.onOthers(.status(.ok))
    let wrong = Locked(0)
    let loads = Locked<[Future<HTTPResponse>]>([])

    together(
      (0..<4).map { thread in
        {
          var random = RandomSource.seeded(UInt64(thread))
          for _ in 0..<1_500 {
            var request = anyRequest("/\(Int.random(in: 0..<2, using: &random))")
            let ended = Locked(false)
            request.progress = { _ in if ended.value { wrong.withLock { $0 += 1 } } }
            let load = api.load(request)
            loads.withLock { $0.append(load) }
            let leaves = Bool.random(using: &random)
            load.observe { outcome in
              ended.value = true
              if !leaves, outcome.text != "success" { wrong.withLock { $0 += 1 } }
            }
            if leaves { load.cancel() }
          }
        }
      })
    for load in loads.value { _ = await load.outcome }
    while coalesce.flightCount > 0 { await Task.yield() }

    expectEqual(wrong.value, 0)
    expectEqual(loads.value.count, 6_000)
  }
}

extension ModifyRequest {
  /// A layer that forwards the request when another future has ended.
  fileprivate init(asking: @escaping @Sendable () -> Future<Void>) {
    self = .deferred { request in asking().map { request } }
  }
}
