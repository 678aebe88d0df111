#if !canImport(Darwin)
  import Synchronization
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

    /// A value whose `deinit` looks at the lock that guarded it.
    private final class Guest: Sendable {
      let locked: Locked<Guest?>
      let wasHeld: Locked<[Bool]>

      init(of locked: Locked<Guest?>, _ wasHeld: Locked<[Bool]>) { (self.locked, self.wasHeld) = (locked, wasHeld) }

      deinit {
        let isHeld = locked.lock.backing.state.load(ordering: .relaxed) != 0
        wasHeld.withLock { $0.append(isHeld) }
      }
    }

    @Test("A value that leaves a section is released after it, also if nobody uses it")
    func released() {
      let (locked, wasHeld) = (Locked<Guest?>(nil), Locked<[Bool]>([]))
      let removals: [() -> Void] = [
        { _ = locked.withLock { $0.take() } },
        { locked.release { $0.take() } },
        { locked.value = nil },
        { _ = locked.withLock { guest in guest.take().map { ($0, 1) } } },
      ]
      for remove in removals {
        locked.value = Guest(of: locked, wasHeld)
        remove()
      }
      expectEqual(wasHeld.value, [false, false, false, false])
    }
  }
#endif
