import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Throttle on many threads")
struct ThrottleThreadsTests {
  /// The end of a chain that counts its loads and ends each on another thread.
  private final class Counting: HTTPLoader {
    struct Counts {
      var now = 0
      var most = 0
      var all = 0
    }

    let counts = Locked(Counts())

    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      counts.withLock { counts in
        counts.now += 1
        counts.all += 1
        counts.most = max(counts.most, counts.now)
      }
      return Future<Void>(on: .global()) {}
        .ensure { self.counts.withLock { $0.now -= 1 } }
        .map { HTTPResponse(to: request, status: .ok) }
    }

    func reset() -> Future<Void> { .succeeded(()) }
  }

  @Test(
    "Four threads load, cancel, pause and change the limit: the limit holds, and all slots are freed",
    .timeLimit(.minutes(20)))
  func threads() async {
    let (end, throttle) = (Counting(), Throttle(3, perHost: 2, aging: .milliseconds(1)))
    let api = throttle --> end
    let loads = Locked<[Future<HTTPResponse>]>([])
    let rounds = 2_000

    let bodies = (0..<4).map { thread in
      { @Sendable in
        var random = RandomSource.seeded(UInt64(thread))
        let priorities: [RequestPriority] = [.lowest, .low, .normal, .high, .highest]
        for round in 0..<rounds {
          var request = try! HTTPRequest("http://host\(round % 3)/")  // A valid URL.
          request.priority = priorities[Int.random(in: 0..<5, using: &random)]
          let load = api.load(request)
          loads.withLock { $0.append(load) }
          switch Int.random(in: 0..<8, using: &random) {
          case 0: load.cancel()
          case 1: load.cancel(.forceImmediately)
          case 2: load.cancel(.doNotForwardRequest)
          case 3: loads.value.randomElement(using: &random)?.cancel()
          case 4 where thread == 0: throttle.pause()
          case 5 where thread == 0: throttle.limit = Int.random(in: 1...3, using: &random)
          default: throttle.resume()
          }
        }
      }
    }
    together(bodies)
    throttle.resume()
    for load in loads.value { _ = await load.outcome }
    await allPlacesAreBack(throttle)

    #expect(end.counts.value.most <= 3)
    expectEqual(end.counts.value.now, 0)
    #expect(end.counts.value.all > rounds)
    #expect(throttle.isIdle)
    expectEqual(throttle.waitingCount, 0)
    expectEqual(loads.value.count, 4 * rounds)
  }

  @Test(
    "A cancellation races an admission, 5,000 times: each load ends once, and its slot is freed",
    .timeLimit(.minutes(20)))
  func races() {
    struct Round {
      let load: Future<HTTPResponse>
      let ends = Locked(0)
    }
    let throttle = Throttle(1, rate: .init(1_000_000_000, per: .nanoseconds(1)))
    let mock = MockLoader()
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    var outcomes: [String: Int] = [:]

    race(rounds: 5_000) { () -> Round in
      throttle.pause()
      let round = Round(load: api.load(anyRequest()))
      round.load.observe { _ in round.ends.withLock { $0 += 1 } }
      return round
    } _: {
      [{ $0.load.cancel() }, { _ in throttle.resume() }]
    } check: { round, _ in
      outcomes[round.load.text, default: 0] += 1
      expectEqual(round.ends.value, 1)
      #expect(throttle.isIdle)
    }

    #expect(Set(outcomes.keys).isSubset(of: ["success", "cancelled"]))
    #expect(mock.requests.count >= outcomes["success", default: 0])
  }

  @Test("Two chains in parallel share one limit")
  func twoChains() async {
    let (end, throttle) = (Counting(), Throttle(2))
    let chains = [throttle --> end, throttle --> ModifyRequest { _ in } --> end]
    let loads = Locked<[Future<HTTPResponse>]>([])

    together(
      chains.map { chain in
        {
          for _ in 0..<500 {
            let load = chain.load(anyRequest())
            loads.withLock { $0.append(load) }
          }
        }
      })
    for load in loads.value { _ = await load.outcome }
    await allPlacesAreBack(throttle)

    #expect(end.counts.value.most <= 2)
    expectEqual(loads.value.count, 1000)
    #expect(throttle.isIdle)
  }

  /// A load that its caller has forced is in flight after the caller's future has ended.
  private func allPlacesAreBack(_ throttle: Throttle) async {
    while throttle.runningCount > 0 { await Task.yield() }
  }
}
