// The lock of the library where the platform's own costs more than what it guards.
//
// A section of this library is about 20 instructions, in which no code of a user runs. `Mutex` on Linux leaves one by a
// second compare-and-exchange, because somebody may sleep in the kernel who must be woken; for three sections a link that is
// 15 of 80 nanoseconds. Here nobody is woken, so that a plain store leaves: who finds the lock taken looks again, gives its
// processor away, and then sleeps for a while that grows to a millisecond. That is the rare case that the holder was
// interrupted inside its 20 instructions, and since the waiter sleeps, a holder of a lower priority gets to go on.
// Apple's platforms have `os_unfair_lock` under `Mutex`, which does as well and lends priority: it is used there.
//
// `Benchmarks/README.md` has the figures of both.

#if !canImport(Darwin)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif
  import Synchronization

  struct PollingLock: ~Copyable {
    private let isHeld = Atomic<Bool>(false)

    @inline(__always)
    func lock() {
      if !isHeld.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged { wait() }
    }

    /// A releasing store would be enough for the processor, but not for the compiler, which moves the retain of what was read
    /// under the lock behind a store. Behind a fence it does not; on x86 that is no instruction.
    @inline(__always)
    func unlock() {
      atomicMemoryFence(ordering: .releasing)
      isHeld.store(false, ordering: .relaxed)
    }

    @inline(never)
    private func wait() {
      var attempt = 0
      repeat {
        attempt += 1
        if attempt > 64 { PollingLock.rest(attempt - 64) }
      } while isHeld.load(ordering: .relaxed)
        || !isHeld.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    /// Lets other threads go on: at first any that are ready, then all of them for up to a millisecond.
    private static func rest(_ round: Int) {
      guard round > 16 else {
        sched_yield()
        return
      }
      var pause = timespec(tv_sec: 0, tv_nsec: min(1_000_000, 1_000 << min(10, round - 17)))
      nanosleep(&pause, nil)
    }
  }
#endif
