#if canImport(Darwin) || FUTURETREE_PLATFORM_LOCK
  import Synchronization

  /// `Mutex` of the standard library. On Apple's platforms it is an `os_unfair_lock`: it lends the holder the priority of a thread
  /// that waits, and the thread sanitizer knows it.
  struct PlatformLock: ~Copyable, Sendable {
    private let mutex = Mutex(())

    @inline(__always)
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      try mutex.withLock { _ in try Guarded(result: body()) }.result
    }

    /// Lets a result leave the mutex: what is returned was guarded by the fields' own rules, not by the mutex's type.
    private struct Guarded<Result>: @unchecked Sendable {
      let result: Result
    }
  }
#endif
