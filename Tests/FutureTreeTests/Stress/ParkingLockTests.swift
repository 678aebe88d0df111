#if !canImport(Darwin)
  import TestSupport
  import Testing

  @testable import FutureTree

  @Suite("The lock that parks")
  struct ParkingLockTests {
    /// The lock, with what it guards.
    private final class Guarded: @unchecked Sendable {  // Because: `lock` guards `count`.
      let lock = ParkingLock()
      var count = 0
    }

    @Test("a thread that waits is woken when the holder leaves")
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
        #expect(guarded.count == 2)
      }
    }

    @Test("of many threads each enters as often as it wants")
    func contention() {
      let guarded = Guarded()
      together(
        Array(repeating: { for _ in 0..<10_000 { guarded.lock.withLock { guarded.count += 1 } } }, count: 8))
      #expect(guarded.lock.withLock { guarded.count } == 80_000)
    }
  }
#endif
