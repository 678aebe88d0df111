#if canImport(Darwin) || FUTURETREE_PLATFORM_LOCK
  import Synchronization

  /// `Mutex` of the standard library. On Apple's platforms it is an `os_unfair_lock`: the holder inherits the priority of a
  /// waiting thread, and the thread sanitizer knows it.
  @usableFromInline struct PlatformLock: ~Copyable, Sendable {
    @usableFromInline let mutex = Mutex(())

    init() {}

    @inlinable @inline(__always)
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
      try mutex.withLock { _ in try Guarded(result: body()) }.result
    }

    /// Wraps a result so that it can leave the mutex. The rules of the guarded fields protect the result, not the type of the
    /// mutex.
    @usableFromInline struct Guarded<Result>: @unchecked Sendable {
      @usableFromInline let result: Result

      @inlinable init(result: Result) { self.result = result }
    }
  }
#endif
