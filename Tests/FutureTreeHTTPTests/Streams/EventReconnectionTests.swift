import Foundation
import FutureTree
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Rules of reconnections") struct EventReconnectionTests {
  private static let lost = Result<Void, any Error>.failure(HTTPError(.connectionLost, "It was closed."))

  /// Returns the delays after connections that were lost without an event, or after one event each.
  private func delays(
    _ rules: EventReconnection, count: Int = 5, retry: String = "", hasEvents: Bool = false, random: UInt64 = 0
  ) -> [Duration] {
    var state = EventReconnectionState(anyRequest(), rules)
    var parser = ServerSentEventParser(maximumEventSize: 100)
    parser.receive(Data("retry: \(retry)\n\n".utf8))
    _ = try? parser.next()
    return (0..<count).compactMap { _ in
      if hasEvents { state.receivedEvent() }
      state.connectionEnded(parser)
      guard case .reconnects(let delay) = state.step(after: Self.lost, RandomSource { random }) else { return nil }
      return delay
    }
  }

  @Test("The delay is 3 seconds, and after connections without an event its maximum doubles up to 60 seconds")
  func exponential() {
    let rules = EventReconnection()

    expectEqual(delays(rules, count: 7, random: .max), [3, 6, 12, 24, 48, 60, 60].map { .seconds($0) })
    expectEqual(delays(rules, count: 7), Array(repeating: .seconds(3), count: 7))
    expectEqual(delays(rules, count: 7, hasEvents: true, random: .max), Array(repeating: .seconds(3), count: 7))
  }

  @Test("The jitter is a random part of the growth")
  func jitter() {
    let half = delays(EventReconnection(), count: 3, random: .max / 2)

    #expect(half[1] > .milliseconds(4_499) && half[1] < .milliseconds(4_501))
    #expect(half[2] > .milliseconds(7_499) && half[2] < .milliseconds(7_501))
  }

  @Test("The server chooses the shortest delay, also beyond the limit of the growth")
  func retry() {
    let rules = EventReconnection(longestDelay: .seconds(10))

    expectEqual(delays(rules, retry: "4000", random: .max), [4, 8, 10, 10, 10].map { .seconds($0) })
    expectEqual(delays(rules, count: 3, retry: "90000", random: .max), Array(repeating: .seconds(90), count: 3))
    expectEqual(delays(rules, count: 3, retry: "0", random: .max), [0, 2, 4].map { .seconds($0) })
    expectEqual(delays(rules, count: 3, retry: "0", hasEvents: true, random: .max), Array(repeating: .zero, count: 3))
    expectEqual(delays(rules, count: 2, retry: "9223372036854775807"), Array(repeating: .century, count: 2))
  }

  @Test("Settings outside of the limits are clamped")
  func clamped() {
    let rules = EventReconnection(delay: .seconds(-1), longestDelay: .seconds(Int64.max), attempts: -1)

    expectEqual(rules, EventReconnection(delay: .zero, longestDelay: .century, attempts: 0))
    expectEqual(delays(EventReconnection(delay: .seconds(Int64.max)), count: 2, random: .max), [.century, .century])
    expectEqual(delays(EventReconnection(longestDelay: .zero), count: 2, random: .max), [.seconds(3), .seconds(3)])
    expectEqual(
      delays(EventReconnection(delay: .zero, longestDelay: .century), count: 2_000, random: .max).last, .century)
  }

  @Test("The number of reconnections without an event is limited", arguments: [0, 1, 4])
  func attempts(limit: Int) {
    let rules = EventReconnection(attempts: limit)

    expectEqual(delays(rules, count: 10).count, limit)
    expectEqual(delays(rules, count: 10, hasEvents: true).count, limit == 0 ? 0 : 10)
  }

  @Test("Only errors that another connection can fix are followed by one")
  func errors() {
    let transient: Set<String> = [
      "unknownHost", "cannotConnect", "connectionLost", "truncatedBody", "timedOut", "transportFailed", "bodyNotRead",
      "streamOverflow", "queueFull", "circuitOpen",
    ]
    for name in transient.union([
      "missingHost", "invalidURL", "insecureConnection", "resetInProgress", "deadlineExceeded", "bodyNotReplayable",
      "credentialsUnavailable", "ambiguousBody", "invalidResponse", "bodyTooLarge", "eventTooLarge", "Custom.error",
    ]) {
      expectEqual(reconnects(.failure(HTTPError(HTTPError.Code(name), "It failed."))), transient.contains(name))
    }
    #expect(reconnects(.success(())))
    for error in [Oops(), CancellationError(), FutureCancelled(reason: "a reset")] as [any Error] {
      #expect(!reconnects(.failure(error)))
    }
  }

  private func reconnects(_ result: Result<Void, any Error>, _ request: HTTPRequest = anyRequest()) -> Bool {
    var state = EventReconnectionState(request, .default)
    if case .reconnects = state.step(after: result, .system) { return true }
    return false
  }

  @Test("A request that cannot be repeated has one connection")
  func repeatable() throws {
    var request = try HTTPRequest(.post, "http://example.com/answers")
    #expect(!reconnects(Self.lost, request))

    try request.setHeader("Idempotency-Key", "1")
    #expect(reconnects(Self.lost, request))
  }

  @Test("The ID of the request is used until there is an event")
  func firstID() throws {
    var request = anyRequest()
    try request.setHeader("last-event-id", "7")
    var state = EventReconnectionState(request, .default)
    try expectEqual(state.request.headers.values(for: "Last-Event-ID"), ["7"])

    var parser = ServerSentEventParser(maximumEventSize: 100, lastEventID: state.lastEventID)
    state.connectionEnded(parser)
    try expectEqual(state.request.headers["Last-Event-ID"], "7")

    parser.receive(Data("id\n\n".utf8))
    _ = try parser.next()
    state.connectionEnded(parser)
    #expect(try state.request.headers["Last-Event-ID"] == nil)
  }
}
