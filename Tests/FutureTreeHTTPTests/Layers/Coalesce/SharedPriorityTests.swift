import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Priorities of shared loads")
struct SharedPriorityTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let throttle: Throttle
  private let api: any HTTPLoader

  init() {
    throttle = Throttle(1, aging: nil, clock: clock)
    throttle.pause()
    mock.onOthers(.json("[]"))
    let throttled = throttle --> mock
    api = chain(Coalesce(), before: throttled)
  }

  private func load(_ path: String, _ priority: RequestPriority) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest("https://example.com/\(path)")
    request.priority = priority
    return api.load(request)
  }

  /// The paths of the requests in the order in which the throttle begins them.
  private func order() -> [String] {
    throttle.resume()
    return mock.requests.map { $0.url?.path.description ?? "" }
  }

  private func callers(_ index: Int) throws -> FlightCallers {
    try #require(mock.requests[index].sharedCallers)
  }

  @Test("A caller with a higher priority raises the load while it is queued")
  func raises() throws {
    let loads = try [load("a", .normal), load("b", .low), load("b", .high)]

    expectEqual(order(), ["/b", "/a"])
    #expect(loads.allSatisfy { $0.isCompleted })
    expectEqual(mock.requests.count, 2)
  }

  @Test("A queued load follows the priority of a flight of SingleFlight")
  func singleFlight() throws {
    let flights = SingleFlight<String, HTTPResponse>()
    let direct = throttle --> mock
    let load = { (path: String, priority: TaskPriority) in
      flights.load(path, priority: priority) { shared in
        direct.load(try HTTPRequest("https://example.com/\(path)").following(shared))
      }
    }
    let loads = [load("a", .medium), load("b", .low), load("c", .low), load("c", .high), load("b", .high)]
    loads[4].cancel()

    expectEqual(order(), ["/c", "/a", "/b"])
    expectEqual(loads.map(\.isCompleted), [true, true, true, true, true])
    expectEqual(mock.requests.count, 3)
  }

  @Test("The priority falls when the caller leaves, with each option", arguments: CancelEverywhere.allOptions)
  func falls(options: CancellationOptions) throws {
    let loads = try [load("a", .normal), load("b", .low), load("b", .high)]

    loads[2].cancel(options)

    #expect(order() == ["/a", "/b"] && loads[1].isCompleted)
  }

  @Test("The priority of the first caller falls as well, and equal callers are counted")
  func firstLeaves() throws {
    let loads = try [load("a", .normal), load("b", .high), load("b", .high), load("b", .lowest)]

    loads[1].cancel()
    let between = try load("c", .normal)
    loads[2].cancel()

    #expect(order() == ["/a", "/c", "/b"] && between.isCompleted && loads[3].isCompleted)
  }

  @Test("A caller whose deadline passes does not count")
  func deadline() throws {
    var request = try HTTPRequest("https://example.com/b")
    request.priority = .high
    request.deadline = .after(.seconds(1), clock: clock)
    let loads = try [load("a", .normal), load("b", .low), api.load(request)]

    clock.advance(by: .seconds(1))

    #expect(loads[2].isCompleted && order() == ["/a", "/b"])
  }

  @Test("The request keeps its place among requests of the same priority: the time of its arrival")
  func arrival() throws {
    let loads = try [load("a", .low), load("b", .high), load("c", .high), load("a", .high), load("d", .high)]

    expectEqual(order(), ["/a", "/b", "/c", "/d"])
    #expect(loads.allSatisfy { $0.isCompleted })
  }

  @Test("A retry waits with the priority of that time")
  func retry() throws {
    mock.on("/b", .status(.serviceUnavailable))
    let api = Coalesce() --> Retry(clock: clock, random: .constant(1)) --> throttle --> mock
    var (low, high) = try (HTTPRequest("https://example.com/b"), HTTPRequest("https://example.com/b"))
    low.priority = .low
    high.priority = .high
    let first = api.load(low)
    throttle.resume()
    throttle.pause()
    let second = api.load(high)
    clock.advanceToNextTimer()
    let other = try load("a", .normal)

    expectEqual(order(), ["/b", "/b", "/a"])
    #expect([first, second, other].allSatisfy { $0.isCompleted })
  }

  @Test("A priority reaches the throttle through two layers that share loads")
  func nested() throws {
    let inner = Coalesce() --> throttle --> mock
    let outer = Coalesce() --> inner
    var (low, high) = try (HTTPRequest("https://example.com/b"), HTTPRequest("https://example.com/b"))
    low.priority = .low
    high.priority = .high
    let first = outer.load(low)
    let other = try load("a", .normal)
    let second = outer.load(high)
    let third = outer.load(high)
    second.cancel()

    expectEqual(order(), ["/b", "/a"])
    #expect([first, other, third].allSatisfy { $0.isCompleted })
  }

  @Test("Through two layers, a priority falls as well")
  func nestedFalls() throws {
    let outer = Coalesce() --> Coalesce() --> throttle --> mock
    var (low, high) = try (HTTPRequest("https://example.com/b"), HTTPRequest("https://example.com/b"))
    low.priority = .low
    high.priority = .high
    let first = outer.load(low)
    let other = try load("a", .normal)
    outer.load(high).cancel()

    expectEqual(order(), ["/a", "/b"])
    #expect(first.isCompleted)
    #expect(other.isCompleted)
  }

  @Test("No place is left when the request has left the queue")
  func observers() throws {
    let loads = try [load("a", .low), load("a", .high), load("b", .low), load("b", .high)]
    for load in loads.suffix(2) { load.cancel() }

    expectEqual(order(), ["/a"])
    #expect(loads.allSatisfy { $0.isCompleted })
    try expectEqual(callers(0).queuedCount, 0)
  }

  @Test("Callers that join and leave on many threads leave the priority of the last")
  func threads() async throws {
    let callers = FlightCallers(first: .lowest)
    final class Queue: PriorityQueue {
      let priority = Locked(RequestPriority.normal)

      func changed(_ place: AnyObject, to priority: RequestPriority) { self.priority.value = priority }
    }

    let queue = Queue()
    callers.add(QueuedRequest(queue: queue, place: queue), queuedAs: .normal)

    await withTaskGroup { group in
      for number in 0..<4 {
        group.addTask {
          for level in 0..<200 {
            let promise = Promise<HTTPResponse>()
            let priority = RequestPriority(level: (level + number) % RequestPriority.levelCount)
            callers.join(priority)
            callers.follow(priority, promise.future, isFirst: false)
            promise.completeCancelled("left")
          }
        }
      }
    }

    expectEqual(callers.priority, .lowest)
    expectEqual(queue.priority.value, .lowest)
  }

  @Test("A queue with changed priorities has the order of a queue in which they were set at first")
  func model() {
    var random = RandomSource.seeded(7)
    for perHost in [nil, 2] {
      for _ in 0..<200 {
        var queue = LimitedQueue<Int>(perKey: perHost, aging: .seconds(10))
        var expected = LimitedQueue<Int>(perKey: perHost, aging: .seconds(10))
        let requests = (0..<12).map { number in
          (
            number: number, first: random.below(5), last: random.below(5), host: "\(random.below(3))",
            time: Duration.seconds(number)
          )
        }
        let places = requests.map { queue.append($0.number, key: $0.host, level: $0.first, at: $0.time) }
        for index in requests.indices.shuffled(using: &random) {
          queue.move(places[index], to: random.below(5))
          queue.move(places[index], to: requests[index].last)
        }
        for request in requests {
          _ = expected.append(request.number, key: request.host, level: request.last, at: request.time)
        }

        expectEqual(popAll(&queue), popAll(&expected))
        expectEqual(queue.count, 0)
        expectEqual(queue.laneCount, 0)
      }
    }
  }

  private func popAll(_ queue: inout LimitedQueue<Int>) -> [Int] {
    var numbers: [Int] = []
    while let place = queue.first(), queue.remove(place) { numbers.append(place.item) }
    return numbers
  }
}

extension RandomSource {
  fileprivate mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
