import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Throttle: the bucket of a rate") struct TokenBucketTests {
  /// The seconds at which successive tokens are taken, each as early as possible.
  private func times(_ rate: Throttle.Rate, count: Int) -> [Double] {
    var (bucket, now) = (TokenBucket(rate), Duration.zero)
    return (0..<count).map { _ in
      bucket.refill(at: now)
      now += bucket.wait
      bucket.refill(at: now)
      #expect(bucket.hasToken)
      expectEqual(bucket.wait, .zero)
      bucket.take()
      return now / .seconds(1)
    }
  }

  @Test("A burst is available at once, then one token after each share of the duration")
  func burst() {
    expectEqual(times(Throttle.Rate(2, per: .seconds(1)), count: 6), [0, 0, 0.5, 1, 1.5, 2])
    expectEqual(times(Throttle.Rate(2, per: .seconds(1), burst: 1), count: 4), [0, 0.5, 1, 1.5])
    expectEqual(times(Throttle.Rate(1, per: .seconds(60), burst: 3), count: 5), [0, 0, 0, 60, 120])
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

    expectEqual(taken, 2 + 1000 * 3)
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

    expectEqual(bucket.wait, .seconds(3))
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
    expectEqual(waiting, ["waits"])
    #expect(begins("c", .seconds(2)))
    state.ended("c")
    #expect(begins("c", .seconds(2)))
    state.ended("c")
    #expect(!begins("c", .seconds(2)), "No token is left.")
    state.ended("a")
    #expect(state.isIdle)
  }
}
