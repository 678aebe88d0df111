import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting

extension ManualClock {
  /// Returns a wall clock that follows this clock: its date is `origin` when this clock is at zero.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let retry = Retry(clock: clock, date: clock.wallClock())
  /// ```
  public func wallClock(origin: Date = Date(timeIntervalSince1970: 1_800_000_000)) -> WallClock {
    WallClock { origin.addingTimeInterval(self.now / .seconds(1)) }
  }
}

extension RandomSource {
  /// Returns a source that generates the same numbers in every run (SplitMix64).
  public static func seeded(_ seed: UInt64) -> RandomSource {
    let random = Locked(SplitMix64(seed: seed))
    return RandomSource { random.withLock { $0.next() } }
  }

  /// Returns a source that always generates the same fraction of its range, from 0 to 1. With 1, a delay with jitter has
  /// its maximum length.
  ///
  /// - Precondition: `fraction` is from 0 to 1.
  public static func constant(_ fraction: Double) -> RandomSource {
    precondition((0...1).contains(fraction), "\(fraction) is not a fraction. Pass a number from 0 to 1.")
    let bits = UInt64(fraction * 0x1.fffffffffffffp52) << 11
    return RandomSource { bits }
  }
}
