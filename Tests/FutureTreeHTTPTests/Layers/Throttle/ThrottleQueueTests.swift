import FutureTree
import FutureTreeHTTPTesting
import Testing

@testable import FutureTreeHTTP

@Suite("Throttle: the queue") struct ThrottleQueueTests {
  private typealias Queue = ThrottleQueue<String>

  private func popAll(_ queue: inout Queue) -> [String] {
    var names: [String] = []
    while let ticket = queue.first(), let name = queue.remove(ticket) { names.append(name) }
    return names
  }

  @Test("The highest priority is first, and among equals the earliest request")
  func order() {
    var queue = Queue(perHost: nil, aging: nil)
    for (name, level) in [("a", 2), ("b", 4), ("c", 0), ("d", 2), ("e", 4)] {
      _ = queue.append(name, host: nil, level: level, at: .seconds(queue.count))
    }

    #expect(popAll(&queue) == ["b", "e", "a", "d", "c"])
    #expect(queue.count == 0 && queue.laneCount == 0)
  }

  @Test(
    "A wait of the aging duration counts as one priority level",
    arguments: [(9, ["high", "low"]), (10, ["low", "high"]), (11, ["low", "high"])])
  func aging(wait: Int, order: [String]) {
    var queue = Queue(perHost: nil, aging: .seconds(10))

    _ = queue.append("low", host: nil, level: 2, at: .zero)
    _ = queue.append("high", host: nil, level: 3, at: .seconds(wait))

    #expect(popAll(&queue) == order)
  }

  @Test("A full host delays no other host, and is available again when one of its requests has ended")
  func hosts() {
    var queue = Queue(perHost: 1, aging: nil)
    for name in ["a1", "a2", "b1"] { _ = queue.append(name, host: String(name.first!), level: 2, at: .zero) }
    queue.began("a")

    #expect(popAll(&queue) == ["b1"])
    queue.ended("a")

    #expect(popAll(&queue) == ["a1", "a2"])
    #expect(queue.laneCount == 0)
  }

  @Test("A request can be removed from any position, once")
  func removing() {
    var queue = Queue(perHost: nil, aging: .seconds(1))
    let tickets = (0..<5).map { queue.append("\($0)", host: nil, level: 2, at: .zero) }

    let left = [0, 2, 4, 2].map { queue.remove(tickets[$0]) }

    #expect(left == ["0", "2", "4", nil])
    #expect(popAll(&queue) == ["1", "3"])
  }

  @Test("Hosts without waiting requests are removed, even if no request is dequeued")
  func nothingGrows() {
    var queue = Queue(perHost: 1, aging: nil)
    _ = queue.append("stays", host: "stays", level: 2, at: .zero)

    for number in 0..<10_000 { _ = queue.remove(queue.append("x", host: "host \(number)", level: 2, at: .zero)) }

    #expect(queue.count == 1 && queue.laneCount <= 2)
  }

  @Test("A clock that moves backward does not change the order of successive requests")
  func backwards() {
    var queue = Queue(perHost: nil, aging: .seconds(1))

    for (name, time) in [("a", 5), ("b", 3), ("c", 4)] {
      _ = queue.append(name, host: nil, level: 2, at: .seconds(time))
    }

    #expect(popAll(&queue) == ["a", "b", "c"])
  }

  @Test("Each end of a request to a full host begins the first of 5,000 queued requests that were not removed")
  func saturatedHost() {
    var queue = Queue(perHost: 1, aging: nil)
    queue.began("a")
    let tickets = (0..<5000).map { queue.append("\($0)", host: "a", level: $0 % 2, at: .zero) }
    for number in 0..<5000 where number % 5 == 0 { _ = queue.remove(tickets[number]) }
    var names: [String] = []

    for _ in 0..<4000 {
      #expect(queue.first() == nil)
      queue.ended("a")
      if let ticket = queue.first(), let name = queue.remove(ticket) { names.append(name) }
      queue.began("a")
    }
    queue.ended("a")

    let rest = (0..<5000).filter { $0 % 5 != 0 }
    #expect(names == (rest.filter { $0 % 2 == 1 } + rest.filter { $0 % 2 == 0 }).map { "\($0)" })
    #expect(queue.laneCount == 0)
  }

  @Test("A removed item is released at once, and the others when the queue is deallocated", arguments: [nil, 1])
  func memory(perHost: Int?) {
    final class Object {}
    var queue: ThrottleQueue<Object>? = ThrottleQueue(perHost: perHost, aging: nil)
    func append() -> (ticket: UInt64?, isAlive: () -> Bool) {
      let object = Object()
      let ticket = queue?.append(object, host: "a", level: 2, at: .zero)
      return (ticket, { [weak object] in object != nil })
    }
    let (first, second) = (append(), append())

    _ = first.ticket.flatMap { queue?.remove($0) }

    #expect(!first.isAlive() && second.isAlive())
    queue = nil
    #expect(!second.isAlive())
  }

  // MARK: Against a model

  private struct Model {
    struct Waiting {
      let ticket: UInt64, host: String, arrival: Duration
      var level: Int
    }
    var waiting: [Waiting] = []
    var running: [String: Int] = [:]

    func first(perHost: Int?, aging: Duration) -> UInt64? {
      waiting.filter { running[$0.host, default: 0] < perHost ?? .max }.min {
        ($0.arrival - aging * $0.level, $0.ticket) < ($1.arrival - aging * $1.level, $1.ticket)
      }?.ticket
    }
  }

  @Test("The queue agrees with a linear search after every operation", arguments: 0..<40 as Range<UInt64>)
  func model(seed: UInt64) {
    var random = RandomSource.seeded(seed)
    let limits: [Int?] = [nil, 1, 2, 3]
    let (perHost, aging) = (limits[Int.random(in: 0..<4, using: &random)], Duration.seconds(3))
    var (queue, model, now) = (Queue(perHost: perHost, aging: aging), Model(), Duration.zero)
    for _ in 0..<400 {
      let host = "host \(Int.random(in: 0..<6, using: &random))"
      let level = Int.random(in: 0..<RequestPriority.levelCount, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0, 1:
        now += .milliseconds(Int.random(in: 0...2000, using: &random))
        let ticket = queue.append(host, host: host, level: level, at: now)
        model.waiting.append(.init(ticket: ticket, host: host, arrival: now, level: level))
      case 2:
        guard let gone = model.waiting.randomElement(using: &random) else { continue }
        model.waiting.removeAll { $0.ticket == gone.ticket }
        #expect(queue.remove(gone.ticket) == gone.host)
      case 3:
        guard let ticket = queue.first(), let host = queue.remove(ticket) else { continue }
        model.waiting.removeAll { $0.ticket == ticket }
        queue.began(host)
        model.running[host, default: 0] += 1
      case 4 where model.running[host, default: 0] > 0:
        queue.ended(host)
        model.running[host, default: 0] -= 1
      case 5:
        guard let index = model.waiting.indices.randomElement(using: &random) else { continue }
        queue.move(model.waiting[index].ticket, to: level)
        model.waiting[index].level = level
      default:  // A request that bypasses the queue.
        guard model.running[host, default: 0] < (perHost ?? 3) + 1 else { continue }
        queue.began(host)
        model.running[host, default: 0] += 1
      }
      #expect(queue.first() == model.first(perHost: perHost, aging: aging))
      #expect(queue.count == model.waiting.count)
    }
    for (host, count) in model.running { for _ in 0..<count { queue.ended(host) } }
    _ = queue.removeAll()
    #expect(queue.count == 0 && queue.first() == nil && queue.laneCount == 0)
  }
}

@Suite("Throttle: the bucket of a rate") struct TokenBucketTests {
  /// The seconds at which successive tokens are taken, each as early as possible.
  private func times(_ rate: Throttle.Rate, count: Int) -> [Double] {
    var (bucket, now) = (TokenBucket(rate), Duration.zero)
    return (0..<count).map { _ in
      bucket.refill(at: now)
      now += bucket.wait
      bucket.refill(at: now)
      #expect(bucket.hasToken && bucket.wait == .zero)
      bucket.take()
      return now / .seconds(1)
    }
  }

  @Test("A burst is available at once, then one token after each share of the duration")
  func burst() {
    #expect(times(Throttle.Rate(2, per: .seconds(1)), count: 6) == [0, 0, 0.5, 1, 1.5, 2])
    #expect(times(Throttle.Rate(2, per: .seconds(1), burst: 1), count: 4) == [0, 0.5, 1, 1.5])
    #expect(times(Throttle.Rate(1, per: .seconds(60), burst: 3), count: 5) == [0, 0, 0, 60, 120])
  }

  @Test("The bucket does not drift: after 1,000,000 refills the count is exact")
  func exact() {
    var bucket = TokenBucket(Throttle.Rate(3, per: .seconds(1), burst: 2))
    var (taken, now) = (0, Duration.zero)
    for _ in 0...1_000_000 {
      bucket.refill(at: now)
      if bucket.hasToken {
        bucket.take()
        taken += 1
      }
      now += .milliseconds(1)
    }

    #expect(taken == 2 + 1000 * 3)
  }

  @Test("A token that is put back never exceeds the burst, and debt is limited")
  func bounds() {
    var bucket = TokenBucket(Throttle.Rate(1, per: .seconds(1), burst: 2))
    bucket.putBack()
    bucket.take()
    bucket.take()
    #expect(!bucket.hasToken)
    bucket.putBack()
    #expect(bucket.hasToken)

    for _ in 0..<100 { bucket.take() }

    #expect(bucket.wait == .seconds(3))
    bucket.fill()
    #expect(bucket.hasToken)
  }

  @Test(
    "Extreme rates are clamped and do not overflow",
    arguments: [
      Throttle.Rate(0, per: .zero), Throttle.Rate(-5, per: .seconds(-1), burst: -1),
      Throttle.Rate(.max, per: .seconds(Int64.max), burst: .max), Throttle.Rate(.max, per: .zero, burst: .max),
      Throttle.Rate(1, per: .seconds(Int64.max), burst: .max),
    ])
  func absurd(rate: Throttle.Rate) {
    var bucket = TokenBucket(rate)
    for now in [Duration.zero, .seconds(1), .seconds(-1), .seconds(Int64.max)] {
      bucket.refill(at: now)
      for _ in 0..<3 { bucket.take() }
    }

    #expect(bucket.wait >= .zero && rate.count >= 1 && rate.burst >= 1 && rate.duration > .zero)
  }

  @Test("A request begins at once only if the queue, the limit, the host, the rate and the pause allow it")
  func beginsAtOnce() {
    var state = ThrottleState<String>(limit: 2, perHost: 1, rate: .init(2), queueLimit: 10, aging: nil)
    func begins(_ host: String, _ now: Duration) -> Bool { state.beginsAtOnce(host, at: now) }

    #expect(begins("a", .zero))
    #expect(!begins("a", .zero), "The host is full.")
    state.isPaused = true
    #expect(!begins("b", .zero), "The throttle is paused.")
    state.isPaused = false
    #expect(begins("b", .zero))
    #expect(!begins("c", .seconds(2)), "All slots are in use.")
    state.ended("b")
    _ = state.arrived("waits", host: "a", priority: .normal, patience: nil, at: .seconds(2))
    #expect(!begins("c", .seconds(2)), "Another request waits.")
    let waiting = state.reset()
    #expect(waiting == ["waits"])
    #expect(begins("c", .seconds(2)))
    state.ended("c")
    #expect(begins("c", .seconds(2)))
    state.ended("c")
    #expect(!begins("c", .seconds(2)), "No token is left.")
    state.ended("a")
    #expect(state.isIdle)
  }
}
