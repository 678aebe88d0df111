import Foundation
import FutureTree
import FutureTreeHTTPTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeOAuth2

/// Two loads that were sent with the first token, and every order of the events that can follow.
@Suite("OAuth2: every order of refusals, refresh, cancellation and reset")
struct OAuth2OrderTests {
  enum Event: CaseIterable {
    case firstRefused, secondRefused, refreshDone, refreshFailed, cancel, reset
  }

  enum Failure: CaseIterable {
    case transport, invalidGrant
  }

  /// Runs the events of one order and records faults.
  private struct Driver {
    let rig = OAuth2Rig()
    let failure: Failure
    let loads: [Future<HTTPResponse>]
    let attempts: MockStub
    let answers: MockStub
    let ends = Locked([0, 0])
    let api: any HTTPLoader
    var reset: Future<Void>?
    var faults: [String] = []
    /// How often each load may be sent. A load is not sent again after a cancellation or a reset.
    var limits = [2, 2]
    var lastSaved = 1

    init(_ failure: Failure, isDrained: Bool) {
      self.failure = failure
      attempts = rig.mock.on(.any, .hold().forever())
      answers = rig.tokens.on(.any, .hold().forever())
      let api = isDrained ? ResetGuard() --> Autocancel(clock: rig.clock) --> rig.api : rig.api
      self.api = api
      loads = ["/a", "/b"].map { [rig] path in api.load(rig.request(path, body: "body of \(path)")) }
      for (number, load) in loads.enumerated() {
        load.observe { [ends] _ in ends.withLock { $0[number] += 1 } }
      }
    }

    func count(_ number: Int) -> Int { rig.mock.requests.filter { $0.path == ["/a", "/b"][number] }.count }

    mutating func check(_ condition: Bool, _ fault: String) {
      if !condition { faults.append(fault) }
    }

    mutating func play(_ event: Event) {
      switch event {
      case .firstRefused: attempts.held[0].answer(status: .unauthorized)
      case .secondRefused: attempts.held[1].answer(status: .unauthorized)
      case .refreshDone: answer(isDone: true)
      case .refreshFailed: answer(isDone: false)
      case .cancel:
        loads[0].cancel()
        limits[0] = count(0)
      case .reset:
        reset = api.reset()
        limits = [count(0), count(1)]
      }
    }

    /// Answers the pending token request, if there is one.
    mutating func answer(isDone: Bool) {
      guard let held = answers.held.last(where: { !$0.isCompleted }) else { return }
      if isDone {
        let number = answers.held.count + 1
        if reset == nil { lastSaved = number }
        held.answer(body: OAuth2Rig.json(number))
      } else if failure == .transport {
        held.complete(.failure(HTTPError(.connectionLost, "gone")))
      } else {
        held.answer(status: .badRequest, body: #"{"error":"invalid_grant"}"#)
      }
    }

    /// Completes everything that is pending in the mocks.
    mutating func finish() {
      for _ in 0..<4 {
        for held in attempts.held where !held.isCompleted {
          if held.cancelRequest == nil { held.answer() } else { held.complete(.cancelled) }
        }
        answer(isDone: true)
      }
    }

    mutating func checkEnd() {
      check(ends.value == [1, 1], "the loads ended \(ends.value) times")
      check(rig.isIdle, "something is left")
      for number in 0..<2 { check(count(number) <= limits[number], "load \(number) was sent after it may not be") }
      for request in rig.mock.requests {
        check(request.body.data == Data("body of \(request.path)".utf8), "a body was lost")
      }
      let tokensOfLoad = (0..<2).map { number in
        rig.mock.requests.filter { $0.path == ["/a", "/b"][number] }.compactMap { $0.headers["Authorization"] }
      }
      for tokens in tokensOfLoad { check(Set(tokens).count == tokens.count, "a token that was refused was sent again") }
      // A refresh token that got a response is not sent again.
      let isSpent = failure == .invalidGrant
      check(!isSpent || Set(rig.asked).count == rig.asked.count, "a refresh token was used twice: \(rig.asked)")
      check(rig.asked.count <= 2, "\(rig.asked.count) token requests")
      checkStore()
      checkOutcomes()
    }

    private mutating func checkStore() {
      if let reset {
        check(reset.text == "success", "the reset: \(reset.text)")
        check(rig.store.credential == nil, "the store has \(rig.store.credential?.accessToken.text ?? "")")
      } else {
        let saved = rig.store.credential?.accessToken.text
        check(saved == "a\(lastSaved)", "the store has \(saved ?? "nothing") and not a\(lastSaved)")
      }
      let held = attempts.held.count
      let next = api.load(rig.request("/next"))
      if attempts.held.count > held { attempts.held[held].answer() }
      answer(isDone: true)
      if attempts.held.count > held { attempts.held[held].answer() }
      let isEnded = reset != nil || loads.contains { $0.text == "authenticationRequired" }
      // If a session ends while no load waits, only the refusal shows its end.
      let texts = isEnded ? ["authenticationRequired"] : ["200", "authenticationRequired"]
      check(texts.contains(next.status), "the next load: \(next.status)")
      check(rig.isIdle, "something is left of the next load")
    }

    private mutating func checkOutcomes() {
      let failed = failure == .transport ? "tokenRequestFailed" : "authenticationRequired"
      for load in loads {
        check(["200", "401", "cancelled", failed].contains(load.status), "a load ended \(load.status)")
        check(load.status != failed || rig.asked.count > 0, "a load failed by no refresh")
        check(load.status != "401" || reset != nil || load.cancelRequest != nil, "a 401 was returned that was none")
      }
    }
  }

  @Test(
    "Every load completes once, the store is correct, and no work remains", arguments: Failure.allCases, [true, false])
  func orders(failure: Failure, isDrained: Bool) {
    var faults: [String] = []
    let orders = permutations(Event.allCases)
    for number in stride(from: 0, to: orders.count, by: LongTest.count(1, small: 5)) {
      let order = orders[number]
      var driver = Driver(failure, isDrained: isDrained)
      for event in order { driver.play(event) }
      driver.finish()
      driver.checkEnd()
      faults += driver.faults.map { "\(order): \($0)" }
    }

    expectEqual(faults, [], "\(faults.count) faults")
  }

  /// Orders without one of the events, so that missing events are covered.
  @Test("Every load completes once also without one of the events", arguments: Failure.allCases, Event.allCases)
  func shorterOrders(failure: Failure, missing: Event) {
    var faults: [String] = []
    for order in permutations(Event.allCases.filter { $0 != missing }) {
      var driver = Driver(failure, isDrained: false)
      for event in order { driver.play(event) }
      driver.finish()
      driver.checkEnd()
      faults += driver.faults.map { "\(order): \($0)" }
    }

    expectEqual(faults, [], "\(faults.count) faults")
  }
}

/// Returns all orders of the elements.
func permutations<Element>(_ elements: [Element]) -> [[Element]] {
  guard !elements.isEmpty else { return [[]] }
  return elements.indices.flatMap { index -> [[Element]] in
    var rest = elements
    let first = rest.remove(at: index)
    return permutations(rest).map { [first] + $0 }
  }
}
