import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import Testing

@Suite("CancelEverywhere with a client of HTTP")
struct CancelEverywhereClientTests {
  @Test("The client without a bug passes")
  func correct() throws {
    let report = try CancelEverywhere.run { scenario($0, nil) }

    #expect(report.points.count > 20)
  }

  @Test(
    "Each bug of the client is found",
    arguments: [
      (BookingClient.Bug.keepsSlot, "The rule “no slot is taken” does not hold."),
      (.retriesAfterCancel, "A timer is set for"),
      (.keepsEntry, "The rule “no booking is in flight” does not hold."),
      (.retainsClient, "BookingClient is still in memory."),
      (.keepsPayment, "The rule “each payment belongs to a booking” does not hold."),
    ])
  func bugs(bug: BookingClient.Bug, problem: String) throws {
    let failure = try #require(throws: CancelEverywhereFailure.self) {
      try CancelEverywhere.run { scenario($0, bug) }
    }

    #expect(failure.problems.contains { $0.hasPrefix(problem) }, "\(failure)")
    let point = try #require(failure.point)
    #expect(throws: CancelEverywhereFailure.self) { try CancelEverywhere.run(only: point) { scenario($0, bug) } }
  }

  @Test("A chain of layers passes")
  func layers() throws {
    try CancelEverywhere.run { trial in
      let mock = trial.track(MockLoader(clock: trial.clock))
      mock.on("/posts", .status(.serviceUnavailable).delayed(by: .seconds(1), clock: trial.clock).times(2))
      mock.on("/posts", .json("[]").delayed(by: .seconds(1), clock: trial.clock).forever())
      let throttle = Throttle(1)
      let api =
        ResetGuard() --> Autocancel() --> Timeout(total: .seconds(60), clock: trial.clock) --> Coalesce()
        --> Retry(.exponential(attempts: 3), clock: trial.clock, random: .constant(1)) --> throttle --> mock
      let posts = try HTTPRequest(.get, to: "https://example.com/posts")
      let first = api.load(posts)
      return Future.all([first, api.load(posts)]).flatMap { _ in api.load(posts) }.map { $0.status }
    }
  }

  private func scenario(_ trial: CancelTrial, _ bug: BookingClient.Bug?) -> Future<Int> {
    let mock = MockLoader(clock: trial.clock)
    mock.on("/seats", .status(.serviceUnavailable).delayed(by: .seconds(1), clock: trial.clock))
    mock.on("/seats", .json("7").delayed(by: .seconds(1), clock: trial.clock).forever())
    mock.on("/payments", .status(.created).delayed(by: .seconds(1), clock: trial.clock).forever())
    mock.on("/bookings", .status(.created).delayed(by: .seconds(1), clock: trial.clock).forever())
    let client = trial.track(BookingClient(mock, clock: trial.clock, bug: bug))
    trial.expect("no slot is taken") { _ in client.state.value.taken == 0 }
    trial.expect("no booking is in flight") { _ in client.state.value.inFlight.isEmpty }
    trial.expect("each payment belongs to a booking") { _ in client.state.value.payments == client.state.value.bookings
    }
    return client.book("A7")
  }
}

/// A client as an application writes it, with one bug or none.
final class BookingClient: Sendable {
  enum Bug: String, CaseIterable, Sendable {
    case keepsSlot, retriesAfterCancel, keepsEntry, retainsClient, keepsPayment
  }

  struct State {
    var taken = 0
    var inFlight: [String: Future<Int>] = [:]
    var payments = 0
    var bookings = 0
    var onBooked: (@Sendable () -> Void)?
  }

  let state = Locked(State())
  private let api: any HTTPLoader
  private let clock: any FutureClock
  private let bug: Bug?

  init(_ api: any HTTPLoader, clock: any FutureClock, bug: Bug?) {
    self.api = api
    self.clock = clock
    self.bug = bug
  }

  func book(_ seat: String) -> Future<Int> {
    state.withLock { $0.taken += 1 }
    let booking = seats().flatMap { seats in self.pay().map { seats } }
      .flatMap { seats in self.confirm().map { seats } }
    state.withLock { $0.inFlight[seat] = booking }
    let done = booking.ensure {
      // A payment without a booking is given back.
      if self.bug != .keepsPayment { self.state.withLock { $0.payments = $0.bookings } }
    }
    done.observe { outcome in
      let old = self.state.withLock { state -> Future<Int>? in
        if self.bug != .keepsSlot || outcome.ending == .succeeded { state.taken -= 1 }
        if self.bug == .keepsEntry, outcome.ending == .cancelled { return nil }
        return state.inFlight.removeValue(forKey: seat)
      }
      _ = old
    }
    if bug == .retainsClient {
      state.withLock { $0.onBooked = { self.state.withLock { $0.onBooked = nil } } }
      booking.observe { if case .success = $0 { self.state.value.onBooked?() } }
    }
    // The caller cancels a future of its own, so that `done` ends after its upstream in each case.
    return done.map { $0 }
  }

  /// Loads the number of seats, twice at most.
  private func seats() -> Future<Int> {
    let request = Future.attempt { .succeeded(try HTTPRequest(.get, to: "https://example.com/seats")) }
    let api = api
    let first = request.flatMap { api.load($0) }
    guard bug == .retriesAfterCancel else {
      return first.flatMap { response in
        response.status == .ok
          ? .succeeded(7)
          : Future.after(.seconds(5), clock: self.clock).flatMap { request.flatMap { api.load($0) } }.map { _ in 7 }
      }
    }
    let promise = Promise<Int>()
    first.observe { outcome in
      guard case .success(let response) = outcome, response.status != .ok else {
        _ = promise.succeed(7)
        return
      }
      // The timer belongs to nobody.
      _ = self.clock.schedule(after: .seconds(5)) { promise.succeed(7) }
    }
    promise.onRequestCancel { request in
      first.cancel(request.options, reason: request.reason)
      return .complete(.cancelled)
    }
    return promise.future
  }

  private func pay() -> Future<Void> {
    post("payments").map { _ in self.state.withLock { $0.payments += 1 } }
  }

  private func confirm() -> Future<Void> {
    post("bookings").map { _ in self.state.withLock { $0.bookings += 1 } }
  }

  private func post(_ path: String) -> Future<HTTPResponse> {
    let api = api
    return Future.attempt { .succeeded(try HTTPRequest(.post, to: "https://example.com/\(path)")) }.flatMap {
      api.load($0)
    }
  }
}
