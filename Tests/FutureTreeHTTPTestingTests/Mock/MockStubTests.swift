import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@Suite("MockLoader: stubs") struct MockStubTests {
  private let mock = MockLoader()

  private func load(_ path: String) throws -> Future<HTTPResponse> {
    mock.load(try HTTPRequest("http://example.com\(path)"))
  }

  private func status(_ path: String) throws -> Int? {
    try load(path).outcomeIfCompleted.flatMap { try? $0.get().status.code }
  }

  @Test("The first matching stub with unused answers gives its next answer")
  func firstMatching() throws {
    mock.on("/a", .status(HTTPStatus(201)))
    mock.on("/*", .status(HTTPStatus(202)))
    mock.on("/a", .status(HTTPStatus(203)))

    try expectEqual(["/b", "/a", "/a", "/a"].map(status), [202, 201, 203, nil])
  }

  @Test("A stub gives its answers in order, each as often as specified")
  func sequences() throws {
    mock.on("/thrice", .status(.serviceUnavailable).times(2), .status(.ok))
    mock.on("/ever", .status(.serviceUnavailable), .status(.ok).forever())

    try expectEqual((0..<4).map { _ in try status("/thrice") }, [503, 503, 200, nil])
    try expectEqual((0..<4).map { _ in try status("/ever") }, [503, 200, 200, 200])
  }

  @Test("Each kind of answer completes its load")
  func kinds() async throws {
    mock.on("/json", .json("[1]", status: .created))
    mock.on("/text", .text("hello"))
    mock.on("/make", .make { HTTPResponse(to: $0, status: .ok, body: Data($0.path.utf8)) })
    mock.on("/fail", .fail(HTTPError(.timedOut, "too late")))

    let json = try await load("/json").value
    let text = try await load("/text").value

    #expect(
      (json.status, json.headers["Content-Type"], try json.body) == (.created, "application/json", Data("[1]".utf8)))
    expectEqual(text.headers["Content-Type"], "text/plain; charset=utf-8")
    try await expectEqual(load("/make").value.body, Data("/make".utf8))
    #expect(throws: HTTPError.self) { try load("/fail").outcomeIfCompleted?.get() }
  }

  @Test("Unmatched requests get the default answers, and the last one repeats")
  func others() throws {
    mock.on("/a", .status(.created))
    let others = mock.onOthers(.status(.forbidden), .status(.notFound))

    try expectEqual(["/b", "/a", "/a", "/b"].map(status), [403, 201, 404, 404])
    expectEqual(others.requests.map(\.path), ["/b", "/a", "/b"])
    try mock.verify()
  }

  @Test("A new default answer replaces the previous one")
  func replacedOthers() throws {
    mock.onOthers(.status(.forbidden))
    mock.onOthers(.status(.notFound))

    try expectEqual(status("/"), 404)
  }

  @Test("A stub reports its requests, held answers and unused answers")
  func handle() throws {
    let stub = mock.on("/users/*", .hold().times(2), .status(.ok).forever())
    expectEqual(stub.unusedAnswers, 3)

    let futures = try [load("/users/1"), load("/users/2")]
    futures[1].cancel()

    expectEqual(stub.requests.map(\.path), ["/users/1", "/users/2"])
    expectEqual(stub.held.map { $0.cancelRequest != nil }, [false, true])
    #expect("\(stub)".hasSuffix(": 2 of 3 answers given"))
    try expectEqual(status("/users/3"), 200)
    try expectEqual(status("/users/4"), 200)
    expectEqual(stub.unusedAnswers, 0)
    for held in stub.held { held.complete(.cancelled) }
  }

  @Test("A delayed answer completes after its delay on the injected clock")
  func delayed() throws {
    let clock = ManualClock()
    mock.on("/", .status(.created).delayed(by: .seconds(3), clock: clock))
    let future = try load("/")

    clock.advance(by: .seconds(2))
    #expect(!future.isCompleted)
    expectEqual(mock.pendingCount, 1)
    clock.advance(by: .seconds(1))

    try expectEqual(future.outcomeIfCompleted?.get().status, .created)
    expectEqual(mock.pendingCount, 0)
  }

  @Test("A delayed answer that is asked to cancel completes at once and cancels its timer")
  func cancelDelayed() throws {
    let clock = ManualClock()
    mock.on("/", .make { _ in fatalError("never") }.delayed(by: .seconds(3), clock: clock))
    let future = try load("/")

    future.cancel(reason: "enough")

    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.cancelRequests.map(\.reason.message), ["enough"])
  }

  @Test("A held answer with a delay begins after the delay")
  func delayedHold() throws {
    let clock = ManualClock()
    let stub = mock.on("/", .hold().delayed(by: .seconds(1), clock: clock))
    let future = try load("/")
    #expect(stub.held.isEmpty)

    clock.advance(by: .seconds(1))
    future.cancel(reason: "once")

    expectEqual(mock.cancelRequests.map(\.reason.message), ["once"])
    #expect(stub.held[0].complete(.cancelled))
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("Closures run outside every lock and can call the mock")
  func reentrance() throws {
    mock.on(
      .matching("asks") { [mock] _ in mock.requests.isEmpty },
      .make { [mock] request in
        mock.on("/second", .status(.created))
        return HTTPResponse(to: request, status: HTTPStatus(200 + mock.requests.count))
      })

    try expectEqual(status("/first"), 201)
    try expectEqual(status("/second"), 201)
  }

  @Test("Concurrent loads get each answer once", .timeLimit(.minutes(20)))
  func threads() async throws {
    let count = 2_000
    for number in 0..<count { mock.answer(body: "\(number)") }
    let request = try HTTPRequest("http://example.com/")

    let bodies = await withTaskGroup(of: String.self) { [mock] group in
      for _ in 0..<count { group.addTask { String(decoding: try! await mock.load(request).value.body, as: UTF8.self) } }
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }

    expectEqual(bodies.count, count)
    try mock.verify()
  }
}
