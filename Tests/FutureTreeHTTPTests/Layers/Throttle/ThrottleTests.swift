import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Throttle")
struct ThrottleTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  /// A stub that holds every load; `held` are the loads that reached the end of the chain.
  private func holding() -> MockStub { mock.on(.any, .hold().forever()) }

  private var paths: [String] { mock.requests.map(\.path) }

  private func request(
    _ path: String, _ priority: RequestPriority = .normal, host: String = "example.com"
  ) throws -> HTTPRequest {
    var request = try HTTPRequest("http://\(host)\(path)")
    request.priority = priority
    return request
  }

  private func expectNothingLeft(_ throttle: Throttle) {
    #expect(throttle.isIdle)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.pendingCount, 0)
  }

  // MARK: Slots

  @Test("At most the limit of loads is in flight, and the next begins when one has ended")
  func limit() throws {
    let throttle = Throttle(2, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let loads = try ["/a", "/b", "/c", "/d"].map { api.load(try request($0)) }

    expectEqual(paths, ["/a", "/b"])
    expectEqual(throttle.runningCount, 2)
    expectEqual(throttle.waitingCount, 2)
    expectEqual(throttle.waitingRequests.map(\.path.description), ["/c", "/d"])
    stub.held[1].answer()
    expectEqual(paths, ["/a", "/b", "/c"])
    expectEqual(loads.map(\.text), ["pending", "success", "pending", "pending"])
    stub.held[0].complete(.failure(Oops()))
    stub.held[2].answer()
    stub.held[3].answer()

    expectEqual(loads.map(\.text), ["oops", "success", "success", "success"])
    expectNothingLeft(throttle)
  }

  @Test("A limit is the only required argument")
  func short() {
    mock.answer()

    expectEqual((Throttle(4) --> mock).load(anyRequest()).text, "success")
  }

  @Test("A full host delays no other host, and requests without a host share one")
  func perHost() throws {
    let throttle = Throttle(4, perHost: 1, clock: clock)
    let (api, stub) = (throttle --> anyHost --> mock, holding())
    let requests = try [
      request("/a1", host: "a"), request("/a2", host: "a"), request("/b1", host: "b"),
      HTTPRequest(.get, path: "/none1"), HTTPRequest(.get, path: "/none2"),
    ]
    let loads = requests.map { api.load($0) }

    expectEqual(paths, ["/a1", "/b1", "/none1"])
    stub.held[2].answer()
    expectEqual(paths.last, "/none2")
    stub.held[0].answer()
    expectEqual(paths.last, "/a2")
    for answer in stub.held { answer.answer() }

    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft(throttle)
  }

  @Test("The highest priority begins first, and among equals the earliest request")
  func priorities() throws {
    let throttle = Throttle(1, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let order: [(String, RequestPriority)] = [
      ("/0", .lowest), ("/normal1", .normal), ("/lowest", .lowest), ("/high", .high), ("/normal2", .normal),
      ("/highest", .highest), ("/low", .low),
    ]
    let loads = try order.map { api.load(try request($0.0, $0.1)) }

    for number in 0..<loads.count { stub.held[number].answer() }

    expectEqual(paths, ["/0", "/highest", "/high", "/normal1", "/normal2", "/low", "/lowest"])
    expectNothingLeft(throttle)
  }

  @Test("A request that has waited long begins before a later one with a higher priority")
  func aging() throws {
    let throttle = Throttle(1, aging: .seconds(10), clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    var loads = [api.load(try request("/first"))]
    loads.append(api.load(try request("/patient", .lowest)))
    for number in 0..<5 {
      clock.advance(by: .seconds(9))
      loads.append(api.load(try request("/high\(number)", .high)))
    }

    for number in 0..<loads.count { stub.held[number].answer() }

    // Its priority is worth 30 seconds less, and `/high3` arrives 36 seconds later.
    expectEqual(paths, ["/first", "/high0", "/high1", "/high2", "/patient", "/high3", "/high4"])
    expectNothingLeft(throttle)
  }

  @Test("`nil` disables aging, and a duration of zero or less makes the wait decide alone")
  func noAgeing() throws {
    let stub = holding()
    for (aging, expected) in [(nil, "/high"), (.zero, "/low"), (.seconds(-1), "/low")] as [(Duration?, String)] {
      let throttle = Throttle(0, aging: aging, clock: clock)
      let api = throttle --> mock
      let low = api.load(try request("/low", .lowest))
      clock.advance(by: .seconds(1_000_000))
      let high = api.load(try request("/high", .highest))

      throttle.limit = 1

      expectEqual(paths.last, expected)
      stub.held.last?.answer()
      stub.held.last?.answer()
      expectEqual([low, high].map(\.text), ["success", "success"])
      expectNothingLeft(throttle)
    }
  }

  @Test("A bypassing request is counted, and waits neither in the queue nor for a pause")
  func passing() throws {
    let throttle = Throttle(1, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let loads = try ["/a", "/b"].map { api.load(try request($0)) }
    throttle.pause()
    var urgent = try request("/urgent")
    urgent.bypassesThrottle = true

    let load = api.load(urgent)

    expectEqual(paths, ["/a", "/urgent"])
    expectEqual(throttle.runningCount, 2)
    throttle.resume()
    stub.held[0].answer()
    expectEqual(paths.count, 2)
    expectEqual(throttle.runningCount, 1)
    stub.held[1].answer()
    expectEqual(paths.last, "/b")
    expectEqual(load.text, "success")
    stub.held[2].answer()
    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft(throttle)
  }

  // MARK: Changing the throttle

  @Test("A pause holds all waiting requests and stops no load; a resume admits them")
  func pause() throws {
    let throttle = Throttle(2, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let first = api.load(try request("/a"))
    throttle.pause()
    throttle.pause()
    let loads = try ["/b", "/c"].map { api.load(try request($0)) }

    #expect(throttle.isPaused)
    expectEqual(paths, ["/a"])
    expectEqual(throttle.waitingCount, 2)
    stub.held[0].answer()
    expectEqual(first.text, "success")
    expectEqual(paths, ["/a"])
    throttle.resume()

    expectEqual(paths, ["/a", "/b", "/c"])
    for answer in stub.held { answer.answer() }
    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft(throttle)
  }

  @Test("The limit can change: 0 or less holds all requests, fewer stops none, and more begins more")
  func changing() throws {
    let throttle = Throttle(-3, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let loads = try (0..<5).map { api.load(try request("/\($0)")) }

    expectEqual(throttle.limit, 0)
    #expect(paths.isEmpty)
    throttle.limit = 3
    expectEqual(throttle.runningCount, 3)
    throttle.limit = 1
    stub.held[0].answer()
    stub.held[1].answer()
    expectEqual(throttle.runningCount, 1)
    expectEqual(paths.count, 3)
    stub.held[2].answer()
    expectEqual(paths.count, 4)
    throttle.limit = .max
    for answer in stub.held { answer.answer() }

    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft(throttle)
  }

  @Test(
    "A full queue is an error, and a request that can begin at once does not need the queue", arguments: [0, 2, -1])
  func queueFull(queueLimit: Int) throws {
    let throttle = Throttle(1, perHost: 1, queueLimit: queueLimit, clock: clock)
    let (api, stub) = (throttle --> mock, holding())
    let loads = try (0..<(1 + max(0, queueLimit))).map { api.load(try request("/\($0)")) }

    let refused = api.load(try request("/refused?token=secret"))

    expectEqual(refused.text, "queueFull")
    expectEqual(throttle.waitingCount, max(0, queueLimit))
    if case .failure(let error) = refused.outcomeIfCompleted { #expect(!"\(error)".contains("secret")) }
    loads.last?.cancel()
    stub.held[0].complete(.cancelled)
    for number in 1..<max(1, queueLimit) { stub.held[number].answer() }
    #expect(loads.allSatisfy { $0.isCompleted })
    expectNothingLeft(throttle)
  }

  @Test("By default, no load is refused")
  func unlimited() {
    mock.onOthers(.status(.ok))
    let throttle = Throttle(4, clock: clock)
    let api = throttle --> mock
    throttle.pause()
    let loads = (0..<5_000).map { api.load(anyRequest("/\($0)")) }
    expectEqual(throttle.waitingCount, 5_000)
    throttle.resume()

    #expect(loads.allSatisfy { $0.text == "success" })
    expectNothingLeft(throttle)
  }

  // MARK: Completion

  @Test("Loads that complete at once need no stack: 1,000 that wait, and 1,000 in a row")
  func synchronous() {
    for _ in 0..<2_000 { mock.answer() }
    let throttle = Throttle(1, clock: clock)
    let api = throttle --> mock
    let ended = Locked(0)

    onThread(stackSize: 128 * 1024) {
      throttle.pause()
      let waiting = (0..<1_000).map { api.load(anyRequest("/\($0)")) }
      throttle.resume()
      ended.value = waiting.count { $0.text == "success" }
      let inARow = (0..<1_000).map { api.load(anyRequest("/\($0)")) }
      let count = inARow.count { $0.text == "success" }
      ended.withLock { $0 += count }
    }

    expectEqual(ended.value, 2_000)
    expectEqual(paths, (0..<2).flatMap { _ in (0..<1_000).map { "/\($0)" } })
    expectNothingLeft(throttle)
  }

  @Test("A load that starts when another has ended needs no stack")
  func reentrant() {
    let throttle = Throttle(1, queueLimit: 1, clock: clock)
    let api = throttle --> mock
    mock.onOthers(.status(.ok))
    let count = Locked(0)
    @Sendable func loadNext() {
      api.load(anyRequest()).observe { outcome in
        if outcome.text == "success",
          count.withLock({
            $0 += 1
            return $0 < 5_000
          })
        {
          loadNext()
        }
      }
    }

    onThread(stackSize: 256 * 1024) { loadNext() }

    expectEqual(count.value, 5_000)
    expectNothingLeft(throttle)
  }

  @Test("A throttle in two chains counts the loads of both, and each continues in its own chain")
  func twoChains() throws {
    let throttle = Throttle(1, clock: clock)
    let other = MockLoader()
    let chains = [throttle --> mock, throttle --> other]
    let (stub, otherHeld) = (holding(), other.hold())

    let loads = try [chains[0].load(request("/a")), chains[1].load(request("/b"))]

    expectEqual(throttle.runningCount, 1)
    #expect(other.requests.isEmpty)
    stub.held[0].answer()
    expectEqual(other.requests.map(\.path), ["/b"])
    otherHeld.answer()
    expectEqual(loads.map(\.text), ["success", "success"])
    expectNothingLeft(throttle)
  }
}
