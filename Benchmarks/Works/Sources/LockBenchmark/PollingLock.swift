// A polling lock, for comparison. No thread is woken, so a plain store releases it. A thread that finds it held checks it
// again, then yields its processor, and then sleeps for a time that grows to a millisecond.

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

    /// Lets other threads run: at first any thread that is ready, then all threads, for up to a millisecond.
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
