import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("FutureQueue: the order of waiting work") struct LimitedQueueTests {
  private typealias Queue = LimitedQueue<String>

  private func popAll(_ queue: inout Queue) -> [String] {
    var names: [String] = []
    while let place = queue.first(), queue.remove(place) { names.append(place.item) }
    return names
  }

  @Test("The highest priority is first, and among equals the earliest request")
  func order() {
    var queue = Queue(perKey: nil, aging: nil)
    for (name, level) in [("a", 2), ("b", 4), ("c", 0), ("d", 2), ("e", 4)] {
      _ = queue.append(name, key: nil, level: level, at: .seconds(queue.count))
    }

    expectEqual(popAll(&queue), ["b", "e", "a", "d", "c"])
    expectEqual(queue.count, 0)
    expectEqual(queue.laneCount, 0)
  }

  @Test(
    "A wait of the aging duration counts as one priority level",
    arguments: [(9, ["high", "low"]), (10, ["low", "high"]), (11, ["low", "high"])])
  func aging(wait: Int, order: [String]) {
    var queue = Queue(perKey: nil, aging: .seconds(10))

    _ = queue.append("low", key: nil, level: 2, at: .zero)
    _ = queue.append("high", key: nil, level: 3, at: .seconds(wait))

    expectEqual(popAll(&queue), order)
  }

  @Test("A full host delays no other host, and is available again when one of its requests has ended")
  func hosts() {
    var queue = Queue(perKey: 1, aging: nil)
    for name in ["a1", "a2", "b1"] { _ = queue.append(name, key: String(name.first!), level: 2, at: .zero) }
    queue.began("a")

    expectEqual(popAll(&queue), ["b1"])
    queue.ended("a")

    expectEqual(popAll(&queue), ["a1", "a2"])
    expectEqual(queue.laneCount, 0)
  }

  @Test("An item can be removed from any position, once")
  func removing() {
    var queue = Queue(perKey: nil, aging: .seconds(1))
    let places = (0..<5).map { queue.append("\($0)", key: nil, level: 2, at: .zero) }

    let left = [0, 2, 4, 2].map { queue.remove(places[$0]) }

    expectEqual(left, [true, true, true, false])
    expectEqual(popAll(&queue), ["1", "3"])
  }

  @Test("Hosts without waiting requests are removed, even if no request is dequeued")
  func nothingGrows() {
    var queue = Queue(perKey: 1, aging: nil)
    _ = queue.append("stays", key: "stays", level: 2, at: .zero)

    for number in 0..<10_000 { _ = queue.remove(queue.append("x", key: "host \(number)", level: 2, at: .zero)) }

    expectEqual(queue.count, 1)
    #expect(queue.laneCount <= 2)
  }

  @Test("A clock that moves backward does not change the order of successive requests")
  func backwards() {
    var queue = Queue(perKey: nil, aging: .seconds(1))

    for (name, time) in [("a", 5), ("b", 3), ("c", 4)] {
      _ = queue.append(name, key: nil, level: 2, at: .seconds(time))
    }

    expectEqual(popAll(&queue), ["a", "b", "c"])
  }

  @Test("Each end of a request to a full host begins the first of 5,000 queued requests that were not removed")
  func saturatedHost() {
    var queue = Queue(perKey: 1, aging: nil)
    queue.began("a")
    let places = (0..<5000).map { queue.append("\($0)", key: "a", level: $0 % 2, at: .zero) }
    for number in 0..<5000 where number % 5 == 0 { queue.remove(places[number]) }
    var names: [String] = []

    for _ in 0..<4000 {
      #expect(queue.first() == nil)
      queue.ended("a")
      if let name = queue.popFirst() { names.append(name) }
    }
    queue.ended("a")

    let rest = (0..<5000).filter { $0 % 5 != 0 }
    expectEqual(names, (rest.filter { $0 % 2 == 1 } + rest.filter { $0 % 2 == 0 }).map { "\($0)" })
    expectEqual(queue.laneCount, 0)
  }

  @Test("A removed item is released at once, and the others when the queue is deallocated", arguments: [nil, 1])
  func memory(perHost: Int?) {
    final class Object {}
    var queue: LimitedQueue<Object>? = LimitedQueue(perKey: perHost, aging: nil)
    func append() -> (remove: () -> Void, isAlive: () -> Bool) {
      let object = Object()
      weak let place = queue?.append(object, key: "a", level: 2, at: .zero)
      return ({ if let place { queue?.remove(place) } }, { [weak object] in object != nil })
    }
    let (first, second) = (append(), append())

    first.remove()

    #expect(!first.isAlive() && second.isAlive())
    queue = nil
    #expect(!second.isAlive())
  }

  // MARK: Against a model

  private struct Model {
    struct Waiting {
      let place: LimitedQueue<String>.Entry, number: Int, host: String, arrival: Duration
      var level: Int
    }
    var waiting: [Waiting] = []
    var running: [String: Int] = [:]

    func first(perHost: Int?, aging: Duration) -> LimitedQueue<String>.Entry? {
      waiting.filter { running[$0.host, default: 0] < perHost ?? .max }.min {
        ($0.arrival - aging * $0.level, $0.number) < ($1.arrival - aging * $1.level, $1.number)
      }?.place
    }
  }

  @Test("The queue agrees with a linear search after every operation", arguments: 0..<40 as Range<UInt64>)
  func model(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let limits: [Int?] = [nil, 1, 2, 3]
    let (perHost, aging) = (limits[Int.random(in: 0..<4, using: &random)], Duration.seconds(3))
    var (queue, model, now, arrived) = (Queue(perKey: perHost, aging: aging), Model(), Duration.zero, 0)
    for _ in 0..<400 {
      let host = "host \(Int.random(in: 0..<6, using: &random))"
      let level = Int.random(in: 0..<5, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0, 1:
        now += .milliseconds(Int.random(in: 0...2000, using: &random))
        let place = queue.append(host, key: host, level: level, at: now)
        arrived += 1
        model.waiting.append(.init(place: place, number: arrived, host: host, arrival: now, level: level))
      case 2:
        guard let gone = model.waiting.randomElement(using: &random) else { continue }
        model.waiting.removeAll { $0.place === gone.place }
        #expect(queue.remove(gone.place) && !queue.remove(gone.place))
      case 3:
        guard let place = queue.first(), let host = queue.popFirst() else { continue }
        model.waiting.removeAll { $0.place === place }
        model.running[host, default: 0] += 1
      case 4 where model.running[host, default: 0] > 0:
        queue.ended(host)
        model.running[host, default: 0] -= 1
      case 5:
        guard let index = model.waiting.indices.randomElement(using: &random) else { continue }
        queue.move(model.waiting[index].place, to: level)
        model.waiting[index].level = level
      default:  // A request that bypasses the queue.
        guard model.running[host, default: 0] < (perHost ?? 3) + 1 else { continue }
        queue.began(host)
        model.running[host, default: 0] += 1
      }
      #expect(queue.first() === model.first(perHost: perHost, aging: aging))
      expectEqual(queue.count, model.waiting.count)
    }
    for (host, count) in model.running { for _ in 0..<count { queue.ended(host) } }
    _ = queue.removeAll()
    expectEqual(queue.count, 0)
    #expect(queue.first() == nil)
    expectEqual(queue.laneCount, 0)
  }
}
