#if !canImport(Darwin)
  import TestSupport
  import Testing

  @testable import FutureTree

  @Suite("ParkingLock")
  struct ParkingLockTests {
    /// The lock with the value it guards.
    private final class Guarded: @unchecked Sendable {  // Because: `lock` guards `count`.
      let lock = ParkingLock()
      var count = 0
    }

    @Test("A waiting thread is woken when the lock is released")
    func wake() {
      for _ in 0..<200 {
        let guarded = Guarded()
        let waiter = guarded.lock.withLock {
          let waiter = JoinedThread { guarded.lock.withLock { guarded.count += 1 } }
          spin { guarded.lock.hasWaiters }
          guarded.count += 1
          return waiter
        }
        waiter.join()
        expectEqual(guarded.count, 2)
      }
    }

    @Test("Many threads can contend for the lock")
    func contention() {
      let guarded = Guarded()
      together(
        Array(repeating: { for _ in 0..<10_000 { guarded.lock.withLock { guarded.count += 1 } } }, count: 8))
      expectEqual(guarded.lock.withLock { guarded.count }, 80_000)
    }
  }
#endif
