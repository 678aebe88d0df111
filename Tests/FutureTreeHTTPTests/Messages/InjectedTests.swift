import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Injected time, dates and randomness") struct InjectedTests {
  @Test("A deadline is an instant of its own clock")
  func deadline() {
    let clock = ManualClock()
    let deadline = FutureDeadline.after(.seconds(10), clock: clock)

    clock.advance(by: .seconds(4))

    expectEqual(deadline.remaining, .seconds(6))
    #expect(!deadline.isExceeded() && deadline.isExceeded(after: .seconds(6)))
    clock.advance(by: .seconds(6))
    #expect(deadline.isExceeded())
  }

  @Test("The dates of a manual clock advance with it")
  func dates() {
    let clock = ManualClock()
    let dates = clock.wallClock(origin: Date(timeIntervalSince1970: 100))

    clock.advance(by: .milliseconds(1500))

    expectEqual(dates.now, Date(timeIntervalSince1970: 101.5))
  }

  @Test("A seed repeats its numbers, and a constant source returns its fraction")
  func random() {
    let numbers = (0..<4).map { _ in RandomSource.seeded(7).next() }
    let source = RandomSource.seeded(7)

    expectEqual(Set(numbers).count, 1)
    expectEqual(Set((0..<100).map { _ in source.next() }).count, 100)
    expectEqual(
      [0, 0.5, 1].map { RandomSource.constant($0).fraction() }.map { ($0 * 1000).rounded() }, [0, 500, 1000])
    #expect((0..<1000).allSatisfy { _ in (0...1).contains(source.fraction()) })
    #expect(Set(RandomSource.system.bytes(64)).count > 16)
  }

  @Test("Names of sensitive fields are compared without case")
  func sensitive() {
    var request = anyRequest()
    request.sensitiveHeaders.insert("X-Session")

    #expect(["authorization", "COOKIE", "x-session"].allSatisfy(request.isSensitive(header:)))
    #expect(!request.isSensitive(header: "Accept") && !anyRequest().isSensitive(header: "X-Session"))
  }

  @Test("Safe and idempotent methods are those of RFC 9110, and QUERY")
  func methods() throws {
    #expect(
      [HTTPMethod.get, .head, .query, .options, try HTTPMethod("TRACE")].allSatisfy { $0.isSafe && $0.isIdempotent })
    #expect([HTTPMethod.put, .delete].allSatisfy { !$0.isSafe && $0.isIdempotent })
    #expect([HTTPMethod.post, .patch, try HTTPMethod("get")].allSatisfy { !$0.isSafe && !$0.isIdempotent })
  }
}
