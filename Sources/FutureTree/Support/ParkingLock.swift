#if !canImport(Darwin)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif
  import Synchronization

  /// A lock of one byte. A thread that finds it held spins, then yields its processor, and then blocks until the holder
  /// unlocks.
  ///
  /// # Invariants
  /// 1. `state` is 0 while the lock is free, 1 while it is held, and 2 while it is held and threads may be blocked.
  /// 2. A thread blocks only while `state` is 2, which it reads under the mutex of its parking place. A thread that changes 2
  ///    to 0 then enters that mutex and wakes the place. It therefore either changes `state` before the read, or wakes the
  ///    blocked thread.
  /// 3. `unlock` does not access the lock after the exchange, because another thread may free the lock.
  ///
  /// # Memory order
  /// The exchange in `unlock` releases; the exchange that takes the lock acquires. A locked section therefore sees all that
  /// earlier sections wrote. `unlock` must be an exchange for the compiler too: it moves the retain of an object that was read
  /// in the section behind a plain releasing store, but not behind an exchange. `MemoryOrderTests` checks both in a model.
  @usableFromInline struct ParkingLock: ~Copyable, Sendable {
    @usableFromInline let state = Atomic<UInt8>(0)

    init() {}

    @inlinable @inline(__always)
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      lock()
      defer { unlock() }
      return try body()
    }

    @inlinable @inline(__always)
    func lock() {
      if !state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
    }

    @inlinable @inline(__always)
    func unlock() {
      if state.exchange(0, ordering: .releasing) == 2 { wake() }
    }

    @usableFromInline @inline(never)
    func wait() {
      for attempt in 0..<80 {
        if state.load(ordering: .relaxed) == 0,
          state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
        {
          return
        }
        if attempt >= 64 { sched_yield() }
      }
      while state.exchange(2, ordering: .acquiring) != 0 { parkingPlace.block(if: { hasWaiters }) }
    }

    @usableFromInline @inline(never)
    func wake() {
      parkingPlace.wakeAll()
    }

    /// Whether threads may be blocked.
    var hasWaiters: Bool { state.load(ordering: .relaxed) == 2 }

    private var parkingPlace: ParkingPlace {
      ParkingPlace.of(address: withUnsafePointer(to: state) { UInt(bitPattern: $0) })
    }
  }

  /// A place where threads block that wait for a lock. Locks share 64 places, so waking a place may wake threads of another
  /// lock, which check their `state` again. Futexes are not available: `syscall` is variadic, and standard Swift cannot call
  /// it.
  private struct ParkingPlace: @unchecked Sendable {  // Because: POSIX makes both thread-safe.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Never freed.
    private static let all = (0..<64).map { _ in ParkingPlace() }

    private init() {
      let statuses = (pthread_mutex_init(mutex, nil), pthread_cond_init(condition, nil))
      precondition(statuses == (0, 0), "A mutex and its condition failed with \(statuses).")
    }

    static func of(address: UInt) -> ParkingPlace { all[Int(address >> 4) % all.count] }

    /// Blocks once, if the lock still has waiters.
    func block(if hasWaiters: () -> Bool) {
      pthread_mutex_lock(mutex)
      if hasWaiters() { pthread_cond_wait(condition, mutex) }
      pthread_mutex_unlock(mutex)
    }

    func wakeAll() {
      pthread_mutex_lock(mutex)
      pthread_cond_broadcast(condition)
      pthread_mutex_unlock(mutex)
    }
  }
#endif
